// What is dropped leaves the resident size of the process, also the second time, and for the smallest chunks too.
#include <cstdio>
#include <cstring>
#include <memory>
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

class ResidentSizeTest : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "a sanitizer's shadow memory counts as resident";
  }
};

TEST_P(ResidentSizeTest, PressureGivesBackAFullPoolTwice) {
  constexpr size_t kTotalBytes = 64 * kMiB;
  const size_t count = kTotalBytes / GetParam();
  ChunkPool pool(PoolOptions(kTotalBytes));
  std::vector<Chunk> chunks(count);
  // Small live blocks between the chunks, which pin the pages of a heap. For the small chunks they would be most of the
  // growth allowed, so there are at most a thousand.
  std::vector<std::unique_ptr<char[]>> blocks;
  blocks.reserve(2000);
  const int64_t start_bytes = ResidentBytes();
  for (int round = 1; round <= 2; round++) {
    for (size_t i = 0; i < count; i++) {
      chunks[i] = pool.Acquire(GetParam(), ChunkKind::k_key);
      std::memset(chunks[i].data, round, chunks[i].bytes);
      if (blocks.size() < 1000) blocks.push_back(std::make_unique<char[]>(100));
    }
    ChunkPool::Release(chunks);
    EXPECT_GE(ResidentBytes() - start_bytes, static_cast<int64_t>(kTotalBytes)) << "the pool was really full";
    EXPECT_EQ(pool.OnMemoryPressure(), kTotalBytes);
    EXPECT_LE(ResidentBytes() - start_bytes, static_cast<int64_t>(4 * kMiB)) << "round " << round;
  }
}

TEST_P(ResidentSizeTest, ColdDropsAndFullBinsGiveBackAtOnce) {
  constexpr size_t kTotalBytes = 64 * kMiB;
  const size_t count = kTotalBytes / GetParam();
  ChunkPool pool(PoolOptions(kMiB));
  std::vector<Chunk> chunks(count);
  const int64_t start_bytes = ResidentBytes();
  for (int round = 1; round <= 2; round++) {
    for (Chunk& chunk : chunks) {
      chunk = pool.Acquire(GetParam(), ChunkKind::k_key);
      std::memset(chunk.data, round, chunk.bytes);
    }
    round == 1 ? ChunkPool::Drop(chunks) : ChunkPool::Release(chunks);
    EXPECT_LE(ResidentBytes() - start_bytes, static_cast<int64_t>(5 * kMiB)) << "round " << round;
  }
}

TEST_P(ResidentSizeTest, HalfOfEachSlabLeavesToo) {
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

INSTANTIATE_TEST_SUITE_P(Classes, ResidentSizeTest, testing::Values(2048, 16 * 1024, 256 * 1024, kMiB),
                         [](const auto& param_info) { return "Bytes" + std::to_string(param_info.param); });

}  // namespace
}  // namespace strongbin
