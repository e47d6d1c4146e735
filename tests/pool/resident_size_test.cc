// What is dropped leaves the resident size of the process, also the tenth time, for the smallest chunks too, and
// whatever allocator the process has.
#include <algorithm>
#include <barrier>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/tests/pool/pool_test_util.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

int64_t ResidentBytes() {
  FILE* file = std::fopen("/proc/self/statm", "r");
  long total_pages = 0;
  long resident_pages = 0;
  EXPECT_NE(file, nullptr);
  EXPECT_EQ(std::fscanf(file, "%ld %ld", &total_pages, &resident_pages), 2);
  std::fclose(file);
  return int64_t{resident_pages} * sysconf(_SC_PAGESIZE);
}

class ResidentSizeOfManyTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "a sanitizer's shadow memory counts as resident";
  }
};

// Chunks of one class, or of all in turn.
constexpr size_t kMixed = 0;

class ResidentSizeTest : public ResidentSizeOfManyTest, public testing::WithParamInterface<size_t> {
 protected:
  static size_t BytesOf(size_t i) { return GetParam() == kMixed ? ClassBytes(i % kSizeClassCount) : GetParam(); }
  static size_t AverageBytes() {
    return GetParam() == kMixed ? (2 * kMaxChunkBytes - kMinChunkBytes) / kSizeClassCount : GetParam();
  }
  static size_t SmallestBytes() { return GetParam() == kMixed ? kMinChunkBytes : GetParam(); }
};

// B31, B32: at once, and in every round.
TEST_P(ResidentSizeTest, PressureGivesBackAFullPoolInTenRounds) {
  constexpr size_t kTotalBytes = 64 * kMiB;
  ChunkPool pool(PoolOptions(kTotalBytes));
  std::vector<Chunk> chunks(kTotalBytes / SmallestBytes());
  // Small live blocks between the chunks, which pin the pages of a heap. For the small chunks they would be most of the
  // growth allowed, so there are at most a thousand.
  std::vector<std::unique_ptr<char[]>> blocks;
  blocks.reserve(2000);
  const int64_t start_bytes = ResidentBytes();
  for (int round = 1; round <= 10; round++) {
    size_t count = 0;
    for (size_t bytes = 0; bytes < kTotalBytes; bytes += chunks[count++].bytes) {
      chunks[count] = pool.Acquire(std::bit_floor(std::min(BytesOf(count), kTotalBytes - bytes)), ChunkKind::k_key);
      std::memset(chunks[count].data, round, chunks[count].bytes);
      if (blocks.size() < 1000) blocks.push_back(std::make_unique<char[]>(100));
    }
    ChunkPool::Release(std::span(chunks).first(count));
    // But for what the allocator has given back of its own meanwhile.
    EXPECT_GE(ResidentBytes() - start_bytes, static_cast<int64_t>(kTotalBytes - 2 * kMiB))
        << "the pool was really full";
    EXPECT_EQ(pool.OnMemoryPressure(), kTotalBytes);
    EXPECT_LE(ResidentBytes() - start_bytes, static_cast<int64_t>(4 * kMiB)) << "round " << round;
  }
}

// B26: what many threads took beyond the cap leaves when they give it back.
TEST_F(ResidentSizeOfManyTest, WhatManyThreadsTookBeyondTheCapLeaves) {
  constexpr size_t kThreads = 10, kChunks = 200, kChunkBytes = 256 * 1024, kCapBytes = 64 * kMiB;
  ChunkPool pool(PoolOptions(kCapBytes));
  const int64_t start_bytes = ResidentBytes();
  std::barrier all_taken(kThreads);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; t++) {
    threads.emplace_back([&] {
      auto chunks = AcquireMany(&pool, kChunkBytes, kChunks);
      for (const Chunk& chunk : chunks) std::memset(chunk.data, 1, chunk.bytes);
      all_taken.arrive_and_wait();
      ChunkPool::Release(chunks);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const PoolStats stats = pool.Stats();
  EXPECT_EQ(stats.lent_bytes_max, kThreads * kChunks * kChunkBytes) << "the cap refuses nothing";
  EXPECT_EQ(Sum(stats.idle_bytes), kCapBytes);
  EXPECT_EQ(Sum(stats.admission_drop_bytes), kThreads * kChunks * kChunkBytes - kCapBytes);
  EXPECT_LE(ResidentBytes() - start_bytes, static_cast<int64_t>(kCapBytes + 8 * kMiB)) << "stacks and heaps of threads";
  EXPECT_EQ(pool.OnMemoryPressure(), kCapBytes);
  ExpectIdentities(pool.Stats());
}

// Where the environment names an allocator, it must be the one that this process has.
TEST(PreloadedAllocatorTest, IsTheOneThatIsMeant) {
  const char* name = std::getenv("STRONGBIN_TEST_ALLOCATOR");
  if (name == nullptr) GTEST_SKIP() << "the C library's own";
  Dl_info info;
  void* const malloc_address = dlsym(RTLD_DEFAULT, "malloc");
  ASSERT_NE(dladdr(malloc_address, &info), 0);
  EXPECT_NE(std::string(info.dli_fname).find(name), std::string::npos) << info.dli_fname;
}

TEST_P(ResidentSizeTest, ColdDropsAndFullBinsGiveBackAtOnce) {
  const size_t count = 64 * kMiB / AverageBytes();
  ChunkPool pool(PoolOptions(kMiB));
  std::vector<Chunk> chunks(count);
  const int64_t start_bytes = ResidentBytes();
  for (int round = 1; round <= 2; round++) {
    for (size_t i = 0; i < count; i++) {
      chunks[i] = pool.Acquire(BytesOf(i), ChunkKind::k_key);
      std::memset(chunks[i].data, round, chunks[i].bytes);
    }
    round == 1 ? ChunkPool::Drop(chunks) : ChunkPool::Release(chunks);
    EXPECT_LE(ResidentBytes() - start_bytes, static_cast<int64_t>(5 * kMiB)) << "round " << round;
  }
}

TEST_P(ResidentSizeTest, HalfOfEachSlabLeavesToo) {
  if (GetParam() == kMixed) GTEST_SKIP() << "classes share no slab";
  constexpr size_t kTotalBytes = 64 * kMiB;
  const size_t count = kTotalBytes / GetParam();
  ChunkPool pool(PoolOptions(0));
  std::vector<Chunk> chunks(count);
  const int64_t start_bytes = ResidentBytes();
  for (Chunk& chunk : chunks) {
    chunk = pool.Acquire(GetParam(), ChunkKind::k_key);
    std::memset(chunk.data, 1, chunk.bytes);
  }
  // Every other stretch of 1 MiB.
  const size_t per_mib = kMiB / GetParam();
  std::vector<Chunk> kept;
  std::vector<Chunk> dropped;
  for (size_t i = 0; i < count; i++) (i / per_mib % 2 == 0 ? kept : dropped).push_back(chunks[i]);
  ChunkPool::Drop(dropped);
  EXPECT_LE(ResidentBytes() - start_bytes, static_cast<int64_t>(kTotalBytes / 2 + 5 * kMiB));
  for (const Chunk& chunk : kept) ASSERT_EQ(chunk.data[chunk.bytes - 1], 1);
  ChunkPool::Drop(kept);
}

std::vector<size_t> EveryClassAndAll() {
  std::vector<size_t> sizes = {kMixed};
  for (size_t slot = 0; slot < kSizeClassCount; slot++) sizes.push_back(ClassBytes(slot));
  return sizes;
}
INSTANTIATE_TEST_SUITE_P(Classes, ResidentSizeTest, testing::ValuesIn(EveryClassAndAll()), [](const auto& param_info) {
  return param_info.param == kMixed ? std::string("Mixed") : "Bytes" + std::to_string(param_info.param);
});

}  // namespace
}  // namespace strongbin
