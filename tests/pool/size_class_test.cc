#include "strongbin/pool/size_class.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "strongbin/tests/pool/pool_test_util.h"

namespace strongbin {
namespace {

static_assert(ClassFor(0) == 0);
static_assert(ClassFor(2047) == 0);
static_assert(ClassFor(2048) == 0);
static_assert(ClassFor(2049) == 1);
static_assert(ClassFor(kMaxChunkBytes) == kSizeClassCount - 1);
static_assert(ClassFor(kMaxChunkBytes + 1) == kOversizeSlot);
static_assert(ClassFor(SIZE_MAX) == kOversizeSlot);

// The smallest class that holds the bytes, found the slow way.
size_t SlowClassFor(size_t min_bytes) {
  for (size_t size_class = 0; size_class < kSizeClassCount; size_class++) {
    if (ClassBytes(size_class) >= min_bytes) return size_class;
  }
  return kOversizeSlot;
}

TEST(SizeClassTest, EveryBoundaryGetsTheSmallestClassThatHoldsIt) {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{2}}) EXPECT_EQ(ClassFor(bytes), SlowClassFor(bytes));
  for (int bit = 2; bit < 64; bit++) {
    const size_t power = size_t{1} << bit;
    for (size_t bytes : {power - 1, power, power + 1}) EXPECT_EQ(ClassFor(bytes), SlowClassFor(bytes)) << bytes;
  }
  EXPECT_EQ(ClassFor(SIZE_MAX), kOversizeSlot);
}

TEST(SizeClassTest, EverySizeUpToTheLargestClassAgreesWithTheSlowSearch) {
  for (size_t bytes = 0; bytes <= kMaxChunkBytes + 2; bytes++) {
    ASSERT_EQ(ClassFor(bytes), SlowClassFor(bytes)) << bytes;
  }
}

TEST(SizeClassTest, AcquireGivesWholeClassesAndExactOversizeBlocks) {
  TestSource source;
  ChunkPool pool(PoolOptions(0, &source));
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{2047}, size_t{2048}, size_t{2049}, size_t{4096}, size_t{4097},
                       (size_t{1} << 20) - 1, size_t{1} << 20}) {
    const Chunk chunk = pool.Acquire(bytes, ChunkKind::k_key);
    ASSERT_TRUE(chunk);
    EXPECT_EQ(chunk.bytes, ClassBytes(SlowClassFor(bytes))) << bytes;
    chunk.data[0] = 1;
    chunk.data[chunk.bytes - 1] = 1;
    ChunkPool::Release(chunk);
  }
  for (size_t bytes : {(size_t{1} << 20) + 1, (size_t{1} << 32) - 1, size_t{1} << 32, (size_t{1} << 32) + 1}) {
    const uint64_t mapped_before = source.mapped_bytes;
    const Chunk chunk = pool.Acquire(bytes, ChunkKind::k_key);
    ASSERT_TRUE(chunk) << bytes;
    EXPECT_EQ(chunk.bytes, bytes);
    EXPECT_EQ(source.mapped_bytes - mapped_before, bytes);
    // Nothing but the ends is touched, so that 4 GiB cost nothing.
    chunk.data[0] = 1;
    chunk.data[bytes - 1] = 1;
    ChunkPool::Release(chunk);
  }
  ExpectIdentities(pool.Stats());
}

TEST(SizeClassTest, SizesThatNoMachineHasAreRefusedAndNotTruncated) {
  TestSource source;
  ChunkPool pool(PoolOptions(size_t{1} << 20, &source));
  for (size_t bytes : {size_t{1} << 63, (size_t{1} << 63) + 1, SIZE_MAX - 4095, SIZE_MAX - 1, SIZE_MAX}) {
    EXPECT_FALSE(pool.Acquire(bytes, ChunkKind::k_value)) << bytes;
  }
  EXPECT_EQ(pool.Stats().refusals, 5u);
  EXPECT_EQ(Sum(pool.Stats().gets), 0u);
  ExpectIdentities(pool.Stats());
}

}  // namespace
}  // namespace strongbin
