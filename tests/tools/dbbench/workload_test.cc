#include "strongbin/tools/dbbench/workload.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tools/dbbench/key_permutation.h"

namespace strongbin::dbbench {
namespace {

Config SmallConfig(uint64_t keys = 1000, size_t key_bytes = 16) {
  Config config;
  config.keys = config.reads = keys;
  config.key_bytes = key_bytes;
  config.value_bytes = 20;
  config.seed = 7;
  return config;
}

WorkShape Shape(TestKind test, uint64_t operations, size_t batch_entries, size_t threads) {
  WorkShape shape;
  shape.test = test;
  shape.operations = operations;
  shape.batch_entries = batch_entries;
  shape.threads = threads;
  shape.seed = 7;
  return shape;
}

TEST(KeyPermutationTest, CoversASmallRangeExactlyOnce) {
  for (const unsigned bits : {8u, 16u}) {
    const KeyPermutation permutation(bits, 3);
    const uint64_t size = uint64_t{1} << bits;
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < size; ++i) {
      const uint64_t number = permutation.Apply(i);
      ASSERT_LT(number, size);
      seen.insert(number);
    }
    EXPECT_EQ(seen.size(), size);
  }
}

TEST(KeyPermutationTest, InvertUndoesApplyForEveryWidth) {
  for (unsigned bits = 8; bits <= 64; bits += 8) {
    const KeyPermutation permutation(bits, bits);
    for (uint64_t i = 0; i < 200; ++i) EXPECT_EQ(permutation.Invert(permutation.Apply(i)), i) << bits;
  }
}

TEST(KeyPermutationTest, SeedsGiveDifferentOrders) {
  const KeyPermutation one(64, 1);
  const KeyPermutation other(64, 2);
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_NE(one.Apply(i), other.Apply(i));
}

TEST(DataSetTest, RandomKeysAreDistinctAndKnowTheirIndex) {
  for (const size_t key_bytes : {size_t{2}, size_t{7}, size_t{8}, size_t{9}, size_t{16}, size_t{100}}) {
    const Config config = SmallConfig(5000, key_bytes);
    const DataSet data(config, TestKind::kWriteRandom);
    std::set<std::string> seen;
    std::string key(key_bytes, '\0');
    for (uint64_t i = 0; i < config.keys; ++i) {
      data.MakeKey(i, key.data());
      EXPECT_EQ(data.IndexOf(key), i);
      seen.insert(key);
    }
    EXPECT_EQ(seen.size(), config.keys) << key_bytes;
  }
}

TEST(DataSetTest, SortedKeysAscend) {
  const Config config = SmallConfig(70'000);
  const DataSet data(config, TestKind::kWriteSorted);
  std::string before;
  std::string key(config.key_bytes, '\0');
  for (uint64_t i = 0; i < config.keys; ++i) {
    data.MakeKey(i, key.data());
    ASSERT_LT(before, key);
    before = key;
  }
}

TEST(DataSetTest, BoundariesSplitTheKeysInFairShares) {
  const Config config = SmallConfig(40'000);
  const DataSet data(config, TestKind::kReadSequential);
  const std::string boundary = data.Boundary(1, 4);
  std::string key(config.key_bytes, '\0');
  int below = 0;
  for (uint64_t i = 0; i < config.keys; ++i) {
    data.MakeKey(i, key.data());
    below += key < boundary ? 1 : 0;
  }
  EXPECT_NEAR(below, 10'000, 500);
}

TEST(DataSetTest, TheSameSeedGivesTheSameValuesAndAnotherSeedOthers) {
  Config config = SmallConfig();
  const DataSet one(config, TestKind::kWriteRandom);
  const DataSet same(config, TestKind::kReadRandom);
  config.seed = 8;
  const DataSet other(config, TestKind::kWriteRandom);
  EXPECT_EQ(one.Value(5), same.Value(5));
  EXPECT_NE(one.Value(5), one.Value(6));
  EXPECT_NE(one.Value(5), other.Value(5));
  EXPECT_EQ(one.Value(5).size(), config.value_bytes);
}

// All keys of all threads, with how often each is named.
std::map<std::string, int> KeysOf(const DataSet& data, const WorkShape& shape) {
  std::map<std::string, int> keys;
  for (size_t thread = 0; thread < shape.threads; ++thread) {
    const Script script(data, shape, thread);
    for (size_t b = 0; b < script.batch_count(); ++b) {
      const Batch batch = script.At(b);
      for (size_t i = 0; i < batch.count; ++i) ++keys[std::string(batch.Key(i))];
    }
  }
  return keys;
}

TEST(ScriptTest, TotalWorkAndKeysDoNotDependOnThreads) {
  const DataSet data(SmallConfig(), TestKind::kWriteRandom);
  const auto alone = KeysOf(data, Shape(TestKind::kWriteRandom, 1000, 7, 1));
  EXPECT_EQ(alone.size(), 1000u);
  for (const size_t threads : {size_t{2}, size_t{3}, size_t{4}, size_t{200}}) {
    EXPECT_EQ(KeysOf(data, Shape(TestKind::kWriteRandom, 1000, 7, threads)), alone) << threads;
  }
}

TEST(ScriptTest, EachRepeatedKeyBelongsToOneThread) {
  const DataSet data(SmallConfig(), TestKind::kOverwrite);
  const WorkShape shape = Shape(TestKind::kOverwrite, 1000, 10, 3);
  std::map<std::string, size_t> owner;
  size_t repeated = 0;
  for (size_t thread = 0; thread < shape.threads; ++thread) {
    const Script script(data, shape, thread);
    for (size_t b = 0; b < script.batch_count(); ++b) {
      const Batch batch = script.At(b);
      for (size_t i = 0; i < batch.count; ++i) {
        const auto [place, fresh] = owner.try_emplace(std::string(batch.Key(i)), thread);
        EXPECT_EQ(place->second, thread);
        repeated += fresh ? 0 : 1;
      }
    }
  }
  EXPECT_GT(repeated, 100u);
}

TEST(ScriptTest, OverwritesHaveVersionsAboveThoseOfTheLoading) {
  const DataSet data(SmallConfig(), TestKind::kOverwrite);
  WorkShape shape = Shape(TestKind::kOverwrite, 1000, 10, 2);
  EXPECT_GE(Script(data, shape, 0).At(0).first_version, data.key_count());
  shape.load = true;
  EXPECT_EQ(Script(data, shape, 0).At(0).first_version, 0u);
}

TEST(ScriptTest, MixedHasTheStatedShares) {
  const DataSet data(SmallConfig(), TestKind::kMixed);
  const Script script(data, Shape(TestKind::kMixed, 100'000, 1000, 1), 0);
  std::map<OperationKind, int> kinds;
  for (size_t b = 0; b < script.batch_count(); ++b) {
    const Batch batch = script.At(b);
    for (size_t i = 0; i < batch.count; ++i) ++kinds[batch.kinds[i]];
  }
  EXPECT_NEAR(kinds[OperationKind::kGet], 1000 * static_cast<int>(kMixedReadPercent), 1000);
  EXPECT_NEAR(kinds[OperationKind::kWrite], 1000 * static_cast<int>(kMixedWritePercent), 1000);
}

TEST(ScriptTest, MarkKeysCountsOnlyWhatWasDone) {
  const DataSet data(SmallConfig(), TestKind::kWriteRandom);
  const Script script(data, Shape(TestKind::kWriteRandom, 1000, 10, 1), 0);
  std::vector<bool> seen(data.key_count());
  script.MarkKeys(25, &seen);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 25);
}

}  // namespace
}  // namespace strongbin::dbbench
