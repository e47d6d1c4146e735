// Each call of the interface while the heap refuses its n-th request, for every n until none is refused: chunks, the
// lists of chunks, and all the small objects beside them.
#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/heap_probe.h"
#include "strongbin/tests/memtable/table_model.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

// A table with some entries on a pool that keeps nothing, so that each chunk is a request to the heap.
struct World {
  explicit World(uint64_t entry_count) {
    for (uint64_t i = 0; i < entry_count; ++i) {
      // Every fifth is a version of one key.
      Put(i % 5 == 0 ? "hot" : NumberKey(Scramble(i), i % 2 == 0 ? 8 : 30), 1 + i, std::string(i % 90, 'v'));
    }
  }
  void Put(const std::string& key, Sequence sequence, const std::string& value) {
    ASSERT_TRUE(table.Put(key, sequence, value).ok());
    Expect(key, sequence, EntryKind::kPut, value);
  }
  void Expect(const std::string& key, Sequence sequence, EntryKind kind, const std::string& value) {
    model.emplace(ModelKey{key, sequence}, ModelValue{kind, std::make_shared<const std::string>(value)});
  }

  MallocChunkSource source;
  ChunkPool pool{UnpooledFrom(&source)};
  AppendOnlyMemtable table{{.pool = &pool, .checksum_entries = true}};
  Model model;
  bool released = false;
};

const std::string kNewKey = "!a key of more than eight bytes";
constexpr Sequence kNewSequence = 5'000;

struct Operation {
  const char* name;
  std::function<Status(World&)> run;
  // What a run that answered ok has done to the table.
  std::function<void(World&)> done = [](World&) {};
};

// Made before any heap refuses.
const std::string kHugeValue(2 << 20, 'h');
const std::vector<std::string> kBatchKeys = [] {
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 40; ++i) keys.push_back("batch " + NumberKey(i, 20));
  return keys;
}();
const std::vector<Write> kSortedBatch = [] {
  std::vector<Write> batch;
  for (const std::string& key : kBatchKeys) batch.push_back({.key = key, .sequence = kNewSequence, .value = key});
  return batch;
}();
const std::vector<Write> kFallingBatch(kSortedBatch.rbegin(), kSortedBatch.rend());
void ExpectBatch(World& world) {
  for (const Write& write : kSortedBatch) {
    world.Expect(std::string(write.key), write.sequence, write.kind, std::string(write.value));
  }
}
void ExpectEmpty(World& world) { world.model.clear(); }
Status Seek(World& world, const std::function<void(MemtableIterator&)>& seek) {
  MemtableIterator iterator = world.table.NewIterator({.all_versions = true});
  seek(iterator);
  if (iterator.status().ok() && !iterator.Valid()) return Status::Code::kCorruption;
  return iterator.status();
}

const std::vector<Operation>& Operations() {
  static const auto* const operations = new std::vector<Operation>{
      {"Put", [](World& w) { return w.table.Put(kNewKey, kNewSequence, "value"); },
       [](World& w) { w.Expect(kNewKey, kNewSequence, EntryKind::kPut, "value"); }},
      {"PutNewerVersion", [](World& w) { return w.table.Put("hot", kNewSequence, "value"); },
       [](World& w) { w.Expect("hot", kNewSequence, EntryKind::kPut, "value"); }},
      {"PutHugeValue", [](World& w) { return w.table.Put(kNewKey, kNewSequence, kHugeValue); },
       [](World& w) { w.Expect(kNewKey, kNewSequence, EntryKind::kPut, kHugeValue); }},
      {"Delete", [](World& w) { return w.table.Delete(kNewKey, kNewSequence); },
       [](World& w) { w.Expect(kNewKey, kNewSequence, EntryKind::kDelete, ""); }},
      {"PutPointer",
       [](World& w) {
         return w.table.PutPointer(kNewKey, kNewSequence, {{0, 0}});
       },
       [](World& w) { w.Expect(kNewKey, kNewSequence, EntryKind::kValuePointer, std::string(16, '\0')); }},
      {"AppendFilled",
       [](World& w) {
         const auto fill = [](std::span<char> room) { return std::fill(room.begin(), room.end(), 'f'), true; };
         return w.table.AppendFilled({.key = kNewKey, .sequence = kNewSequence}, 5'000, fill);
       },
       [](World& w) { w.Expect(kNewKey, kNewSequence, EntryKind::kPut, std::string(5'000, 'f')); }},
      {"AppendBatch", [](World& w) { return w.table.AppendBatch(kFallingBatch); }, ExpectBatch},
      {"AppendSortedBatch", [](World& w) { return w.table.AppendSortedBatch(kSortedBatch); }, ExpectBatch},
      {"AppendProduced",
       [](World& w) {
         return w.table.AppendProduced(kFallingBatch.size(),
                                       [](size_t i, Write* write) { return *write = kFallingBatch[i], true; });
       },
       ExpectBatch},
      {"Reserve",
       [](World& w) {
         return w.table.Reserve({2'000, 20'000, 200'000});
       }},
      {"Get",
       [](World& w) { return w.table.Get("hot").found() == w.model.empty() ? Status::Code::kCorruption : Status(); }},
      {"SeekToFirst", [](World& w) { return Seek(w, [](MemtableIterator& i) { i.SeekToFirst(); }); }},
      {"SeekToLast", [](World& w) { return Seek(w, [](MemtableIterator& i) { i.SeekToLast(); }); }},
      {"SeekForPrev", [](World& w) { return Seek(w, [](MemtableIterator& i) { i.SeekForPrev("hot"); }); }},
      {"Pin", [](World& w) { return w.table.Pin() ? Status() : Status::Code::kOutOfMemory; }},
      {"Stats",
       [](World& w) { return w.table.Stats().entries == w.model.size() ? Status() : Status::Code::kCorruption; }},
      {"Trim",
       [](World& w) {
         return w.table.Trim({1, 1, 1}), Status();
       }},
      {"ResetWarm", [](World& w) { return w.table.ResetWarm(); }, ExpectEmpty},
      {"ResetCold", [](World& w) { return w.table.ResetCold(); }, ExpectEmpty},
      {"ResetHard", [](World& w) { return w.table.ResetHard(); }, ExpectEmpty},
      {"ReleaseWarm", [](World& w) { return w.released ? Status() : w.table.ReleaseWarm(); },
       [](World& w) { w.released = true; }},
      {"ReleaseCold", [](World& w) { return w.released ? Status() : w.table.ReleaseCold(); },
       [](World& w) { w.released = true; }},
      {"PoolAcquire",
       [](World& w) {
         const Chunk chunk = w.pool.Acquire(5'000, ChunkKind::k_key);
         if (!chunk) return Status::Code::kOutOfMemory;
         return ChunkPool::Release(chunk), Status::Code::kOk;
       }},
      {"PoolPressure", [](World& w) { return w.pool.OnMemoryPressure(), Status(); }},
      {"PoolDropIdle", [](World& w) { return w.pool.DropIdle(), Status(); }},
      {"PoolDropDecayed", [](World& w) { return w.pool.DropDecayed(), Status(); }},
      {"PoolSetCap", [](World& w) { return w.pool.SetCapBytes(1 << 20), Status(); }},
      {"PoolSetDecay", [](World& w) { return w.pool.SetDecayMs(60'000) ? Status() : Status::Code::kOutOfMemory; }},
      {"PoolStats", [](World& w) { return w.pool.Stats().gets[0] > 0 ? Status() : Status::Code::kCorruption; }},
  };
  return *operations;
}

testing::AssertionResult IsSound(World& world) {
  if (world.released) {
    return LentBytes(world.pool) == 0 ? testing::AssertionSuccess() : testing::AssertionFailure() << "still lent";
  }
  if (world.table.MemoryUsage() != LentBytes(world.pool)) return testing::AssertionFailure() << "memory usage";
  return SameContent(world.table, world.model);
}

class HeapFailureTest : public testing::TestWithParam<Operation> {};

TEST_P(HeapFailureTest, AnswersOutOfMemoryChangesNothingAndLaterSucceeds) {
  const Operation& operation = GetParam();
  for (const uint64_t entry_count : {1u, 60u, 300u}) {
    bool was_refused = true;
    for (int64_t granted = 0; was_refused; ++granted) {
      SCOPED_TRACE(std::to_string(entry_count) + " entries, granted " + std::to_string(granted));
      ASSERT_LT(granted, 500);
      World world(entry_count);
      Status status;
      bool threw = false;
      {
        const HeapRefusal refusal(HeapRefusal::Of::kEverything, granted);
        try {
          status = operation.run(world);
        } catch (const std::bad_alloc&) {
          threw = true;
        }
        was_refused = refusal.refused_count() > 0;
      }
      ASSERT_FALSE(threw);
      if (status.ok()) {
        operation.done(world);
      } else {
        ASSERT_TRUE(was_refused) << status.message();
        ASSERT_EQ(status.code(), Status::Code::kOutOfMemory);
      }
      ASSERT_TRUE(IsSound(world));
      if (status.ok()) continue;
      ASSERT_TRUE(operation.run(world).ok());
      operation.done(world);
      ASSERT_TRUE(IsSound(world));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, HeapFailureTest, testing::ValuesIn(Operations()),
                         [](const auto& param_info) { return param_info.param.name; });

// Only these two may throw, and then there is nothing.
TEST(HeapFailureOfConstructorsTest, ThrowOrAreUsableOnceThereIsMemory) {
  bool was_refused = true;
  for (int64_t granted = 0; was_refused; ++granted) {
    SCOPED_TRACE("granted " + std::to_string(granted));
    ASSERT_LT(granted, 100);
    std::optional<ChunkPool> pool;
    std::optional<AppendOnlyMemtable> table;
    {
      const HeapRefusal refusal(HeapRefusal::Of::kEverything, granted);
      try {
        pool.emplace(ChunkPoolOptions{.source = ChunkSourceKind::kMalloc});
        table.emplace(MemtableOptions{.pool = &*pool, .base_capacity = {100, 100, 100}, .checksum_entries = true});
      } catch (const std::bad_alloc&) {
      }
      was_refused = refusal.refused_count() > 0;
    }
    if (!table) continue;
    // A table that had no memory for its first generation has one after a reset.
    Status status = table->Put("key", 1, "value");
    if (!status.ok()) {
      ASSERT_EQ(status.code(), Status::Code::kOutOfMemory);
      ASSERT_TRUE(table->ResetWarm().ok());
      status = table->Put("key", 1, "value");
    }
    ASSERT_TRUE(status.ok());
    ASSERT_EQ(table->Get("key").value, "value");
  }
}

// The end of a table, of its readers and of a pool may not need memory at all.
TEST(HeapFailureOfEndsTest, EndsNeedNoMemory) {
  for (const bool reader_outlives : {false, true}) {
    MallocChunkSource source;
    ChunkPool pool(UnpooledFrom(&source));
    std::optional<MemtableIterator> iterator;
    {
      auto table = std::make_unique<AppendOnlyMemtable>(MemtableOptions{.pool = &pool});
      for (uint64_t i = 0; i < 300; ++i) ASSERT_TRUE(table->Put(NumberKey(Scramble(i), 20), i, "value").ok());
      iterator.emplace(table->NewIterator());
      iterator->SeekToFirst();
      ASSERT_TRUE(iterator->Valid());
      if (!reader_outlives) iterator.reset();
      const HeapRefusal refusal(HeapRefusal::Of::kEverything, reader_outlives ? 1 : 0);
      table.reset();
    }
    const HeapRefusal refusal(HeapRefusal::Of::kEverything);
    if (iterator) {
      EXPECT_TRUE(iterator->Valid());
      iterator.reset();
    }
    EXPECT_EQ(LentBytes(pool), 0u);
  }
}

}  // namespace
}  // namespace strongbin
