// The same operations, otherwise arranged: pool on and off, one writer and many, single writes and batches, tables that
// have held other things before. What a reader sees is the same.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/key_history.h"
#include "strongbin/tests/memtable/on_threads.h"
#include "strongbin/tests/memtable/table_model.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

struct Arrangement {
  const char* name;
  size_t cap_bytes = size_t{64} << 20;
  ChunkSourceKind source = ChunkSourceKind::kMmapSlab;
  uint64_t writers = 1;
  size_t batch_entries = 1;
  bool sorted_batches = false;
  bool reserves = false;
  bool checksums = false;
  // What the table and its pool have been through before.
  std::function<void(AppendOnlyMemtable*)> before = [](AppendOnlyMemtable*) {};
};

void FillAndReset(AppendOnlyMemtable* table, bool cold) {
  for (uint64_t i = 0; i < 3'000; ++i) ASSERT_TRUE(table->Put(NumberKey(Scramble(i), 30), i, "before").ok());
  ASSERT_TRUE((cold ? table->ResetCold() : table->ResetWarm()).ok());
}

const std::vector<Arrangement>& Arrangements() {
  static const auto* const arrangements = new std::vector<Arrangement>{
      {.name = "Plain"},
      {.name = "PoolOff", .cap_bytes = 0},
      {.name = "SmallPool", .cap_bytes = 6'000},
      {.name = "Malloc", .source = ChunkSourceKind::kMalloc},
      {.name = "FourWriters", .writers = 4},
      {.name = "Batches", .batch_entries = 17},
      {.name = "LargeBatches", .batch_entries = 500, .checksums = true},
      {.name = "SortedBatches", .batch_entries = 40, .sorted_batches = true},
      {.name = "FourWritersOfSortedBatches", .writers = 4, .batch_entries = 9, .sorted_batches = true},
      {.name = "Reserved", .reserves = true},
      {.name = "AfterAWarmReset", .before = [](AppendOnlyMemtable* table) { FillAndReset(table, false); }},
      {.name = "AfterAColdReset", .before = [](AppendOnlyMemtable* table) { FillAndReset(table, true); }},
      {.name = "AfterPressureAndTrim",
       .writers = 2,
       .before =
           [](AppendOnlyMemtable* table) {
             FillAndReset(table, false);
             table->pool().OnMemoryPressure();
             table->Trim({1, 1, 1});
           }},
  };
  return *arrangements;
}

using Entries = std::vector<Model::value_type>;

// Stretches of entries; between two of them the table is read.
std::vector<Entries> StretchesOf(uint64_t seed) {
  Random random(seed);
  Model model;
  const auto order = static_cast<History>(seed % 3);
  KeyHistory keys(order, 60, /*huge=*/seed % 5 == 0, &random);
  std::vector<Entries> stretches;
  for (const uint64_t count : {1u, 30u, 64u, 300u, 900u}) {
    Entries entries;
    while (entries.size() < count) {
      const ModelKey key = keys.Next(model);
      const ModelValue value{static_cast<EntryKind>(Below(&random, 3)),
                             std::make_shared<const std::string>(RandomValue(&random, false))};
      if (model.emplace(key, value).second) entries.emplace_back(key, value);
    }
    stretches.push_back(std::move(entries));
  }
  return stretches;
}

void Write(AppendOnlyMemtable* table, const Arrangement& arrangement, const Entries& entries) {
  if (arrangement.reserves) {
    ASSERT_TRUE(table->Reserve({entries.size(), 20 * entries.size(), 300 * entries.size()}).ok());
  }
  std::atomic<uint64_t> refused{0};
  OnThreads(arrangement.writers, [&](uint64_t writer) {
    std::vector<strongbin::Write> batch;
    const auto flush = [&] {
      if (arrangement.sorted_batches) {
        std::sort(batch.begin(), batch.end(), [](const strongbin::Write& a, const strongbin::Write& b) {
          return a.key != b.key ? a.key < b.key : a.sequence > b.sequence;
        });
      }
      const Status status = batch.size() == 1            ? table->Append(batch[0])
                            : arrangement.sorted_batches ? table->AppendSortedBatch(batch)
                                                         : table->AppendBatch(batch);
      if (!status.ok()) refused.fetch_add(1);
      batch.clear();
    };
    for (size_t i = writer; i < entries.size(); i += arrangement.writers) {
      const auto& [key, value] = entries[i];
      batch.push_back({.key = key.key, .sequence = key.sequence, .value = *value.bytes, .kind = value.kind});
      if (batch.size() == arrangement.batch_entries) flush();
    }
    if (!batch.empty()) flush();
  });
  ASSERT_EQ(refused.load(), 0u);
}

// All that a reader can ask at a quiet point, a line each.
void Read(const AppendOnlyMemtable& table, uint64_t seed, std::vector<std::string>* history) {
  const auto show = [&](const char* what, std::string_view key, Sequence sequence, EntryKind kind,
                        std::string_view value) {
    history->push_back(std::string(what) + " " + Printable(key) + "@" + std::to_string(sequence) + " kind " +
                       std::to_string(static_cast<int>(kind)) + " = " + Printable(value));
  };
  Random random(seed);
  std::vector<std::string> keys = {""};
  for (const bool all_versions : {true, false}) {
    for (const Sequence snapshot : {kMaxSequence, Below(&random, 2'000)}) {
      MemtableIterator iterator = table.NewIterator({.snapshot = snapshot, .all_versions = all_versions});
      for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
        show("next", iterator.key(), iterator.sequence(), iterator.kind(), iterator.value());
        if (OneIn(&random, 4)) keys.emplace_back(iterator.key());
      }
      for (iterator.SeekToLast(); iterator.Valid(); iterator.Prev()) {
        show("prev", iterator.key(), iterator.sequence(), iterator.kind(), iterator.value());
      }
      ASSERT_TRUE(iterator.status().ok());
    }
  }
  for (const std::string& key : keys) {
    const LookupResult found = table.Get(key, Below(&random, 4'000));
    show(found.found() ? "get" : "no", key, found.sequence, found.kind, found.value);
    MemtableIterator iterator = table.NewIterator();
    OneIn(&random, 2) ? iterator.Seek(key) : iterator.SeekForPrev(key + "\x01");
    if (iterator.Valid()) show("seek", iterator.key(), iterator.sequence(), iterator.kind(), iterator.value());
  }
  history->push_back(std::to_string(table.entry_count()) + " entries");
}

std::vector<std::string> HistoryOf(const Arrangement& arrangement, uint64_t seed) {
  ChunkPool pool({.cap_bytes = arrangement.cap_bytes, .source = arrangement.source});
  AppendOnlyMemtable table({.pool = &pool, .checksum_entries = arrangement.checksums});
  std::vector<std::string> history;
  for (int generation = 0; generation < 2; ++generation) {
    arrangement.before(&table);
    for (const Entries& entries : StretchesOf(seed)) {
      Write(&table, arrangement, entries);
      Read(table, seed, &history);
      EXPECT_EQ(table.MemoryUsage(), LentBytes(pool));
    }
    table.Freeze();
    Read(table, seed, &history);
    EXPECT_TRUE(table.ResetWarm().ok());
  }
  return history;
}

class MetamorphicTest : public testing::TestWithParam<Arrangement> {};

TEST_P(MetamorphicTest, HistoryIsThatOfThePlainArrangement) {
  ForSeeds(Scaled(3, 1), [](uint64_t seed) {
    const std::vector<std::string> plain = HistoryOf(Arrangements().front(), seed);
    const std::vector<std::string> other = HistoryOf(GetParam(), seed);
    const auto [at_plain, at_other] = std::mismatch(plain.begin(), plain.end(), other.begin(), other.end());
    ASSERT_TRUE(at_plain == plain.end() && at_other == other.end())
        << "line " << at_plain - plain.begin() << "\nplain: " << (at_plain == plain.end() ? "(ended)" : *at_plain)
        << "\nother: " << (at_other == other.end() ? "(ended)" : *at_other);
    ASSERT_GT(plain.size(), 1'000u);
  });
}

INSTANTIATE_TEST_SUITE_P(Arrangements, MetamorphicTest,
                         testing::ValuesIn(Arrangements().begin() + 1, Arrangements().end()),
                         [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace strongbin
