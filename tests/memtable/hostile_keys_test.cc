// Keys that are chosen against the memtable find it as quick as random ones, counted in steps.
#include "strongbin/tests/memtable/hostile_keys.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/table_model.h"

namespace strongbin {
namespace {

TEST(HostileKeysTest, TakeAsManyStepsAndAsMuchMemoryAsRandomKeys) {
  const size_t count = Scaled(40'000, 8'000);
  TableStats random_stats;
  size_t random_usage = 0;
  for (const KeySet& set : HostileKeySets(count)) {
    SCOPED_TRACE(set.name);
    ASSERT_EQ(std::set<std::string>(set.keys.begin(), set.keys.end()).size(), count);
    ChunkPool pool;
    AppendOnlyMemtable table({.pool = &pool});
    Sequence sequence = 0;
    for (const std::string& key : set.keys) ASSERT_TRUE(table.Put(key, ++sequence, "value").ok());
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(table.Get(set.keys[i]).sequence, i + 1);
    MemtableIterator iterator = table.NewIterator();
    std::string last;
    uint64_t seen = 0;
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next(), ++seen) {
      ASSERT_TRUE(last < iterator.key());
      last = iterator.key();
    }
    ASSERT_EQ(seen, count);
    const TableStats stats = table.Stats();
    if (set.name == std::string("random")) {
      random_stats = stats;
      random_usage = table.MemoryUsage();
      continue;
    }
    // The longest chain is chance for random keys too: three times as long, and a line of eight.
    EXPECT_LE(stats.longest_chain, 3 * random_stats.longest_chain + 8);
    EXPECT_LE(stats.sorted_entries, 3 * random_stats.sorted_entries);
    EXPECT_LE(stats.merged_entries, 3 * random_stats.merged_entries);
    EXPECT_LE(table.MemoryUsage(), random_usage + random_usage / 8);
  }
}

// Starts within starts, more of them than are sorted by what follows; keys that end in a start, with and without zeros
// that records cannot tell from their end; many versions of some.
TEST(HostileKeysTest, StartsWithinStartsAreInOrder) {
  Random random(3);
  ChunkPool pool;
  AppendOnlyMemtable table({.pool = &pool});
  Model model;
  const auto add = [&](const std::string& key) {
    const Sequence sequence = Below(&random, 1'000'000);
    if (!model.emplace(ModelKey{key, sequence}, ModelValue{EntryKind::kPut, std::make_shared<std::string>()}).second)
      return;
    ASSERT_TRUE(table.Put(key, sequence, "").ok());
  };
  for (uint64_t i = 0; i < Scaled(30'000, 6'000); ++i) {
    const size_t depth = Below(&random, 9);
    std::string key;
    for (size_t level = 0; level < depth; ++level) key += std::string(13 + level, static_cast<char>('a' + level));
    switch (Below(&random, 6)) {
      case 0:
        key += std::string(Below(&random, 20), '\0');
        break;
      case 1:
        key.resize(key.size() - std::min<size_t>(key.size(), Below(&random, 30)));
        break;
      case 2:
        key += std::string(12, 'z') + static_cast<char>(Below(&random, 256));
        break;
      default:
        key += NumberKey(random() % 100'000'000, 8 + Below(&random, 12));
    }
    add(key);
  }
  ASSERT_TRUE(SameContent(table, model));
  // And as one piece, from the start.
  table.Freeze();
  ASSERT_TRUE(SameContent(table, model));
}

}  // namespace
}  // namespace strongbin
