// The memtable in front of the stand-in for RocksDB, while threads are made to change at the worst places.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/linear_history.h"
#include "strongbin/tests/memtable/perturbed.h"
#include "strongbin/tests/memtable/rocksdb/fake_engine.h"

namespace strongbin {
namespace {

struct RepStore {
  bool Put(const std::string& key, Sequence sequence, const std::string& value) {
    return AddEntry(rep, {.key = key, .sequence = sequence, .value = value}, kConcurrentInsert);
  }
  std::optional<ShownEntry> Get(const std::string& key, Sequence snapshot) {
    const char* entry = FirstVersion(rep, key, snapshot);
    return entry == nullptr ? std::nullopt : std::optional(Shown(entry));
  }
  // The newest of each key at the snapshot, as RocksDB's own iterator takes them.
  std::vector<ShownEntry> Scan(Sequence snapshot) {
    std::vector<ShownEntry> entries;
    const RepIteratorPtr iterator = OpenIterator(rep);
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      ShownEntry shown = Shown(iterator->key());
      if (shown.sequence > snapshot || (!entries.empty() && entries.back().key == shown.key)) continue;
      entries.push_back(std::move(shown));
    }
    return entries;
  }

  static ShownEntry Shown(const char* encoded) {
    const FakeEntry entry = Decode(encoded);
    return {std::string(entry.key), entry.sequence, std::string(entry.value)};
  }

  Rep* rep;
};

TEST(RepScheduleTest, InsertsLookupsAndScansHaveAnOrderThatExplainsThem) {
  ForSchedules(Scaled(60, 12), [](uint64_t seed) {
    ChunkPool pool;
    FakeMemTable table(&pool);
    RepStore store{table.rep.get()};
    const uint64_t key_count = seed % 3 == 0 ? 4 : 40;
    HistoryRun run(&store, seed, key_count);
    const OperationHistory history = run.Run(4, 300);
    ASSERT_EQ(run.unproved_count(), 0u);
    ASSERT_TRUE(IsLinearisable(history, key_count));
    table.End();
    ASSERT_EQ(LentBytes(pool), 0u);
  });
}

}  // namespace
}  // namespace strongbin
