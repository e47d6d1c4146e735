// Counting a range, and drawing a sample: what RocksDB's estimates and its memory purge rest on.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/rocksdb/fake_engine.h"
#include "strongbin/tests/memtable/rocksdb/rep_fillings.h"
#include "strongbin/tests/memtable/rocksdb/rep_model.h"

namespace strongbin {
namespace {

using Sample = std::unordered_set<const char*>;

class RepSampleTest : public testing::TestWithParam<Filling> {
 protected:
  RepSampleTest() { Fill(rep(), &model_, GetParam()); }
  Rep* rep() { return table_.rep.get(); }

  Sample AllEntries() {
    Sample all;
    const RepIteratorPtr iterator = OpenIterator(rep());
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) all.insert(iterator->key());
    return all;
  }
  Sample Draw(uint64_t size) {
    Sample sample;
    rep()->UniqueRandomSample(model_.size(), size, &sample);
    return sample;
  }

  ChunkPool pool_;
  FakeMemTable table_{&pool_};
  Model model_;
};

TEST_P(RepSampleTest, NumberOfEntriesInARangeIsExact) {
  Random random(1);
  std::vector<ModelKey> places = {{"", kMaxSequence}, {"", 0}, {"~", kMaxSequence}, {"~", 0}};
  for (const auto& [key, value] : model_) {
    places.push_back(key);
    places.push_back({key.key, kMaxSequence});
    places.push_back({key.key + '\0', 5});
  }
  for (int round = 0; round < 3'000; ++round) {
    const ModelKey& start = places[Below(&random, places.size())];
    const ModelKey& end = places[Below(&random, places.size())];
    const auto expected =
        start < end ? std::distance(model_.lower_bound(start), model_.lower_bound(end)) : std::ptrdiff_t{0};
    ASSERT_EQ(
        rep()->ApproximateNumEntries(InternalKeyOf(start.key, start.sequence), InternalKeyOf(end.key, end.sequence)),
        static_cast<uint64_t>(expected))
        << Printable(start.key) << "@" << start.sequence << " to " << Printable(end.key) << "@" << end.sequence;
  }
}

TEST_P(RepSampleTest, NumberOfEntriesCountsTheNewest) {
  const std::string first = InternalKeyOf("", kMaxSequence), last = InternalKeyOf("~", 0);
  for (uint64_t i = 0; i < 200; ++i) {
    ASSERT_EQ(rep()->ApproximateNumEntries(first, last), model_.size());
    ASSERT_TRUE(AddToBoth(rep(), &model_, NumberKey(Scramble(i), 20), 10'000 + i));
  }
}

TEST_P(RepSampleTest, SamplesHaveTheWantedSizeAndHoldEntries) {
  const Sample all = AllEntries();
  ASSERT_EQ(all.size(), model_.size());
  const uint64_t count = model_.size();
  std::vector<uint64_t> sizes = {0, 1, count / 2, count, count + 1, 2 * count + 3, UINT64_MAX};
  if (count > 0) sizes.push_back(count - 1);
  for (const uint64_t size : sizes) {
    for (int round = 0; round < 20; ++round) {
      const Sample sample = Draw(size);
      ASSERT_EQ(sample.size(), std::min(size, count));  // a set: all are different
      for (const char* entry : sample) ASSERT_TRUE(all.contains(entry));
    }
  }
}

// A share that never comes up would keep its garbage for ever.
TEST_P(RepSampleTest, EveryEntryIsDrawnNowAndThen) {
  Sample missing = AllEntries();
  // Each draw leaves out a given entry with a probability of 7/8: that one of 202 is left out by all of 500 is one in
  // 10^26.
  for (int round = 0; round < 500; ++round) {
    for (const char* entry : Draw(model_.size() / 8 + 1)) missing.erase(entry);
  }
  EXPECT_TRUE(missing.empty());
}

TEST_P(RepSampleTest, SamplesNeedNoOrderAndNoMemoryOfTheTable) {
  const uint64_t held = LentBytes(pool_);
  Draw(model_.size());
  EXPECT_EQ(LentBytes(pool_), held);
  EXPECT_EQ(table_.Stats().sorts, 0u);
}

INSTANTIATE_TEST_SUITE_P(Fillings, RepSampleTest, testing::ValuesIn(kFillings), FillingName);

}  // namespace
}  // namespace strongbin
