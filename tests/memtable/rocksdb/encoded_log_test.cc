// Handles, places and order of the log of encoded entries.
#include "strongbin/memtable/rocksdb/encoded_log.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

struct Written {
  EncodedLog::Room room;
  size_t bytes;
  uint64_t number;

  // Where the number stands in the entry: at its first byte, and at its last where there is room for both.
  size_t stamp_bytes() const { return std::min(bytes, sizeof(number)); }
  char* last_stamp() const { return room.data + (bytes < 2 * sizeof(number) ? 0 : bytes - sizeof(number)); }
};

void Mark(const Written& entry) {
  std::memcpy(entry.room.data, &entry.number, entry.stamp_bytes());
  std::memcpy(entry.last_stamp(), &entry.number, entry.stamp_bytes());
}
bool IsMarked(const Written& entry) {
  return std::memcmp(entry.room.data, &entry.number, entry.stamp_bytes()) == 0 &&
         std::memcmp(entry.last_stamp(), &entry.number, entry.stamp_bytes()) == 0;
}

class EncodedLogTest : public testing::Test {
 protected:
  void Allocate(size_t bytes) {
    const EncodedLog::Room room = log_.Allocate(bytes);
    ASSERT_NE(room.data, nullptr);
    written_.push_back({room, bytes, written_.size()});
    Mark(written_.back());
  }
  void AppendAll() {
    for (const Written& entry : written_) {
      log_.Append(entry.room.handle);
    }
  }
  // Each handle leads to the bytes that were allocated with it, no two handles are equal, and the log has kept the
  // order of the appends, which was that of `written_`.
  void ExpectAllThere() {
    std::unordered_set<uint32_t> handles;
    EncodedLog::Walk walk;
    ASSERT_EQ(log_.size(), written_.size());
    for (uint64_t number = 0; number < written_.size(); ++number) {
      const Written& entry = written_[number];
      ASSERT_TRUE(handles.insert(entry.room.handle).second) << number;
      ASSERT_LT(entry.room.handle, EncodedLog::kMaxSlots);
      ASSERT_EQ(log_.At(entry.room.handle)->bytes, entry.room.data) << number;
      ASSERT_EQ(log_.HandleAt(number), entry.room.handle) << number;
      ASSERT_EQ(walk.Next(log_)->bytes, entry.room.data) << number;
      ASSERT_EQ(walk.handle(), entry.room.handle) << number;
      ASSERT_TRUE(IsMarked(entry)) << number;
    }
    EXPECT_EQ(log_.reserved_bytes() + log_.handle_reserved_bytes(), LentBytes(pool_));
    EXPECT_EQ(log_.handle_used_bytes(), written_.size() * sizeof(uint32_t));
  }

  // Pages of chunks that nobody touches cost nothing: many large chunks are cheap.
  static ChunkPoolOptions WithoutColdStart() {
    ChunkPoolOptions options;
    options.cap_bytes = 0;
    options.cold_start = {.huge_pages = false, .populate = false};
    return options;
  }

  ChunkPool pool_{WithoutColdStart()};
  EncodedLog log_{&pool_};
  std::vector<Written> written_;
};

TEST_F(EncodedLogTest, EmptyLogHoldsNothing) {
  EXPECT_EQ(log_.size(), 0u);
  EXPECT_EQ(log_.reserved_bytes() + log_.handle_reserved_bytes(), 0u);
  EXPECT_EQ(LentBytes(pool_), 0u);
}

TEST_F(EncodedLogTest, SmallEntriesFillChunksToTheLastByte) {
  // 512 bytes divide every chunk: an entry begins at the first byte of each and one ends at its last.
  for (int i = 0; i < 20'000; ++i) Allocate(512);
  EXPECT_EQ(log_.abandoned_bytes(), 0u);
  EXPECT_EQ(log_.used_bytes(), 20'000u * 512);
  AppendAll();
  ExpectAllThere();
}

TEST_F(EncodedLogTest, EntriesOfAllSizesKeepTheirHandlesAcrossChunkBorders) {
  Random random(3);
  uint64_t used = 0;
  for (int i = 0; i < 30'000; ++i) {
    const size_t bytes = OneIn(&random, 500) ? 1 + Below(&random, 20'000) : 1 + Below(&random, 200);
    Allocate(bytes);
    used += bytes;
    ASSERT_EQ(log_.used_bytes(), used);
    ASSERT_LE(log_.touched_bytes(), log_.reserved_bytes());
  }
  AppendAll();
  ExpectAllThere();
}

// Around a quarter of the next chunk, around the largest chunk, and far above it: before, between and behind small
// ones.
TEST_F(EncodedLogTest, LargeEntriesLieByThemselves) {
  constexpr size_t kMiB = size_t{1} << 20;
  for (int round = 0; round < 3; ++round) {
    for (const size_t bytes : {511u, 512u, 513u, 2'047u, 2'048u, 2'049u, 262'143u, 262'144u, 262'145u}) Allocate(bytes);
    for (const size_t bytes : {kMiB - 1, kMiB, kMiB + 1, 5 * kMiB + 3}) Allocate(bytes);
    for (int i = 0; i < 1'000; ++i) Allocate(100);
  }
  AppendAll();
  ExpectAllThere();
}

TEST_F(EncodedLogTest, EntriesBeyondTheNearChunksAreFoundToo) {
  // 72 chunks up to the largest class, then 1 MiB each: some dozens more than near handles can name.
  constexpr size_t kBytes = size_t{256} << 10;
  constexpr uint64_t kEnough = 4 * (1024 + 50);
  for (int i = 0; i < 30'000; ++i) Allocate(1'000);
  while (written_.size() < 30'000 + kEnough) Allocate(kBytes);
  const uint64_t chunks = log_.buffers_examined();
  EXPECT_GT(chunks, 1024u);
  // Small ones share the chunks that handles cannot name.
  for (int i = 0; i < 5'000; ++i) Allocate(100);
  EXPECT_LE(log_.buffers_examined(), chunks + 1);
  AppendAll();
  ExpectAllThere();
}

TEST_F(EncodedLogTest, BytesFromOutsideHaveHandlesLikeOthers) {
  std::vector<std::unique_ptr<char[]>> outside;
  for (int i = 0; i < 3'000; ++i) {
    if (i % 3 != 0) {
      Allocate(50);
      continue;
    }
    outside.push_back(std::make_unique<char[]>(50));
    const EncodedLog::Room room = log_.Adopt(outside.back().get());
    ASSERT_EQ(room.data, outside.back().get());
    written_.push_back({room, 50, written_.size()});
    Mark(written_.back());
  }
  EXPECT_EQ(log_.used_bytes(), 2'000u * 50);
  AppendAll();
  ExpectAllThere();
}

TEST_F(EncodedLogTest, TheOrderIsThatOfTheAppends) {
  for (int i = 0; i < 10'000; ++i) Allocate(i % 100 == 0 ? 3'000 : 30);
  Random random(9);
  std::shuffle(written_.begin(), written_.end(), random);
  EXPECT_EQ(log_.unappended_count(), 10'000u);
  AppendAll();
  EXPECT_EQ(log_.unappended_count(), 0u);
  ExpectAllThere();
}

TEST_F(EncodedLogTest, WalksBeginAnywhere) {
  for (int i = 0; i < 5'000; ++i) Allocate(20);
  AppendAll();
  for (uint64_t first = 0; first < 5'000; first += 7) {
    EncodedLog::Walk walk(first);
    for (uint64_t number = first; number < std::min<uint64_t>(first + 600, 5'000); ++number) {
      ASSERT_EQ(walk.Next(log_)->bytes, written_[number].room.data);
      ASSERT_EQ(walk.handle(), written_[number].room.handle);
    }
  }
}

// The slot of each entry was taken with it: appending asks nobody.
TEST_F(EncodedLogTest, AppendsTakeNoMemory) {
  for (int i = 0; i < 20'000; ++i) Allocate(20);
  const size_t reserved = log_.handle_reserved_bytes();
  AppendAll();
  EXPECT_EQ(log_.handle_reserved_bytes(), reserved);
  ExpectAllThere();
}

TEST(EncodedLogRefusalTest, RefusedAllocationsLeaveTheLogAsItWas) {
  for (int64_t granted = 0; granted < 40; ++granted) {
    RefusingSource source;
    ChunkPool pool(UnpooledFrom(&source));
    EncodedLog log(&pool);
    source.RefuseAfter(granted);
    std::vector<Written> written;
    uint64_t refusals = 0;
    for (uint64_t i = 0; i < 2'000; ++i) {
      const size_t bytes = i % 40 == 39 ? 2'000 : 1 + i % 60;
      const uint64_t unappended = log.unappended_count();
      EncodedLog::Room room = log.Allocate(bytes);
      if (room.data == nullptr) {
        ASSERT_EQ(log.unappended_count(), unappended);
        ++refusals;
        source.GrantAll();
        room = log.Allocate(bytes);
        ASSERT_NE(room.data, nullptr);
        source.RefuseAfter(static_cast<int64_t>(i % 3));
      }
      written.push_back({room, bytes, i});
      Mark(written.back());
      if (i % 2 == 0) continue;
      for (const uint64_t each : {i - 1, i}) {
        log.Append(written[each].room.handle);
      }
    }
    EXPECT_GT(refusals, 0u);
    ASSERT_EQ(log.size(), written.size());
    for (uint64_t i = 0; i < written.size(); ++i) {
      ASSERT_EQ(log.At(log.HandleAt(i))->bytes, written[i].room.data);
      ASSERT_TRUE(IsMarked(written[i]));
    }
    EXPECT_EQ(log.reserved_bytes() + log.handle_reserved_bytes(), LentBytes(pool));
  }
}

}  // namespace
}  // namespace strongbin
