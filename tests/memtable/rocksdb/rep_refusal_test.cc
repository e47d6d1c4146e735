// Memory refused: by the pool, by the heap, by RocksDB's arena, from the n-th request on, for every n. RocksDB cannot
// be refused an insert (facebook/rocksdb issue 13429), so all that was allocated is inserted, and all that was inserted
// is read.
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/heap_probe.h"
#include "strongbin/tests/memtable/rocksdb/fake_engine.h"
#include "strongbin/tests/memtable/rocksdb/rep_fillings.h"
#include "strongbin/tests/memtable/rocksdb/rep_model.h"

namespace strongbin {
namespace {

// One more of kEntries entries that take new chunks of all kinds: new keys, versions of some hot keys in any order,
// large ones.
ModelKey KeyOf(uint64_t i) {
  return {i % 3 == 0 ? "hot " + std::to_string(i % 21) : NumberKey(Scramble(i), 20), 10'000 + (i ^ 5)};
}
std::string ValueOf(uint64_t i) { return std::string(i % 50 == 49 ? 3'000 : i % 40, 'v'); }
constexpr uint64_t kEntries = Scaled(500, 250);  // more than the first segment of an index takes

class RepRefusalTest : public testing::TestWithParam<Filling> {
 protected:
  void Add(FakeMemTable* table, Model* model, uint64_t i) {
    const ModelKey key = KeyOf(i);
    ASSERT_TRUE(AddToBoth(table->rep.get(), model, key.key, key.sequence, ValueOf(i)));
  }
  void AddAll(FakeMemTable* table, Model* model) {
    for (uint64_t i = 0; i < kEntries && !HasFatalFailure(); ++i) Add(table, model, i);
  }
  // By Get alone, which needs no memory.
  static testing::AssertionResult SameLookups(FakeMemTable* table, const Model& model) {
    for (const auto& [key, value] : model) {
      if (const auto same = SameVersions(table->rep.get(), model, key.key, key.sequence); !same) return same;
    }
    return testing::AssertionSuccess();
  }
  // Every sequence is there, under its key and under no other.
  static void ExpectDuplicates(FakeMemTable* table, const Model& model) {
    for (const auto& [key, value] : model) {
      ASSERT_FALSE(AddEntry(table->rep.get(), {.key = key.key, .sequence = key.sequence}))
          << Printable(key.key) << "@" << key.sequence;
    }
  }
};

TEST_P(RepRefusalTest, PoolThatRefusesIsReplacedByTheHeap) {
  bool was_refused = true;
  for (int64_t granted = 0; was_refused; ++granted) {
    SCOPED_TRACE("granted " + std::to_string(granted));
    RefusingSource source;
    ChunkPool pool(UnpooledFrom(&source));
    FakeMemTable table(&pool);
    Model model;
    source.RefuseAfter(granted);
    Fill(table.rep.get(), &model, GetParam());
    AddAll(&table, &model);
    ASSERT_TRUE(SameContent(table.rep.get(), model));
    was_refused = table->memory().heap_bytes() > 0;
    EXPECT_EQ(table->memory().engine_bytes(), 0u);
    const RecordingCharge::Books books = table.charge->Now();
    EXPECT_EQ(books.held(), table->memory().held_bytes());
    EXPECT_GE(books.held(), LentBytes(pool) + (was_refused ? kMinChunkBytes : 0));
    // Once there is memory again it is the pool's.
    source.GrantAll();
    const uint64_t heap_bytes = table->memory().heap_bytes();
    for (uint64_t i = kEntries; i < 2 * kEntries; ++i) Add(&table, &model, i);
    ASSERT_TRUE(SameContent(table.rep.get(), model));
    EXPECT_EQ(table->memory().heap_bytes(), heap_bytes);
    table.End();
    EXPECT_EQ(table.charge->Now().held(), 0u);
    EXPECT_EQ(LentBytes(pool), 0u);
    ASSERT_FALSE(HasFailure());
    ASSERT_LT(granted, 1'000);
  }
}

// Pool and heap are the same here: the heap's refusals meet the pool's source first.
TEST_P(RepRefusalTest, HeapThatRefusesIsReplacedByTheArena) {
  bool was_refused = true;
  for (int64_t granted = 0; was_refused; ++granted) {
    SCOPED_TRACE("granted " + std::to_string(granted));
    MallocChunkSource source;
    ChunkPool pool(UnpooledFrom(&source));
    FakeMemTable table(&pool);
    Model model;
    {
      const HeapRefusal refusal(HeapRefusal::Of::kChunks, granted);
      Fill(table.rep.get(), &model, GetParam());
      AddAll(&table, &model);
      ASSERT_TRUE(SameLookups(&table, model));
      was_refused = refusal.refused_count() > 0;
    }
    EXPECT_EQ(table->memory().engine_bytes() > 0, was_refused);
    EXPECT_EQ(table->memory().engine_bytes(), table.arena.bytes());
    ASSERT_TRUE(SameContent(table.rep.get(), model));
    ExpectDuplicates(&table, model);
    table->MarkReadOnly();
    ASSERT_TRUE(SameContent(table.rep.get(), model));
    table.End();
    EXPECT_EQ(table.charge->Now().held(), 0u);
    EXPECT_EQ(LentBytes(pool), 0u);
    ASSERT_FALSE(HasFailure());
    ASSERT_LT(granted, 1'000);
  }
}

// RocksDB's interface has no status for a seek. One that showed less than there is would lose writes at a flush.
TEST_P(RepRefusalTest, SeeksWithoutMemoryThrowAndLaterSucceed) {
  MallocChunkSource source;
  ChunkPool pool(UnpooledFrom(&source));
  FakeMemTable table(&pool);
  Model model;
  Fill(table.rep.get(), &model, GetParam());
  const RepIteratorPtr old = OpenIterator(table.rep.get());
  old->SeekToFirst();
  uint64_t refusals = 0;
  for (uint64_t i = 0; i < kEntries; ++i) {
    Add(&table, &model, i);
    if (i % 50 != 0) continue;
    const uint64_t calls = table.arena.calls();
    for (int64_t granted = 0;; ++granted) {
      ASSERT_LT(granted, 100);
      const RepIteratorPtr made_now = OpenIterator(table.rep.get());
      uint64_t throws = 0;
      {
        const HeapRefusal refusal(HeapRefusal::Of::kAnything, granted);
        for (Rep::Iterator* iterator : {old.get(), made_now.get()}) {
          try {
            granted % 2 == 0 ? iterator->SeekToFirst() : iterator->Seek(InternalKeyOf("", kMaxSequence), nullptr);
            ASSERT_TRUE(SamePlace(*iterator, &*model.begin()));
          } catch (const std::bad_alloc&) {
            ++throws;
            ASSERT_FALSE(iterator->Valid());
          }
        }
        ASSERT_TRUE(SameLookups(&table, model));
      }
      refusals += throws;
      if (throws == 0) break;
    }
    ASSERT_EQ(table.arena.calls(), calls);
    ASSERT_TRUE(SameContent(table.rep.get(), model));
  }
  EXPECT_GT(refusals, 20u);
}

// Nobody has memory, RocksDB's arena included: entries that were allocated before are inserted all the same. They wait
// outside the index until memory comes back.
TEST_P(RepRefusalTest, InsertsSucceedWithoutAnyMemoryAndAreReadWhileTheyWait) {
  bool was_refused = true;
  for (int64_t granted = 0; was_refused; ++granted) {
    SCOPED_TRACE("granted " + std::to_string(granted));
    MallocChunkSource source;
    ChunkPool pool(UnpooledFrom(&source));
    FakeMemTable table(&pool);
    Model model;
    Fill(table.rep.get(), &model, GetParam());
    struct Allocated {
      ROCKSDB_NAMESPACE::KeyHandle first;
      ROCKSDB_NAMESPACE::KeyHandle second;  // the same once more
    };
    std::vector<Allocated> allocated;
    for (uint64_t i = 0; i < kEntries; ++i) {
      const ModelKey key = KeyOf(i);
      const FakeEntry entry{.key = key.key, .sequence = key.sequence, .value = "v"};
      allocated.push_back({AllocateEntry(table.rep.get(), entry), AllocateEntry(table.rep.get(), entry)});
    }
    const size_t usage = table->ApproximateMemoryUsage();
    {
      const HeapRefusal refusal(HeapRefusal::Of::kAnything, granted);
      table.arena.refuse = [](size_t) { return true; };
      for (uint64_t i = 0; i < kEntries; ++i) {
        const ModelKey key = KeyOf(i);
        ASSERT_EQ(FirstVersion(table.rep.get(), key.key, key.sequence) == nullptr,
                  ModelGet(model, key.key, key.sequence) == nullptr);
        ASSERT_TRUE(table->InsertKeyConcurrently(allocated[i].first)) << i;
        model.emplace(key, ModelValue{EntryKind::kPut, std::make_shared<const std::string>("v")});
        ASSERT_TRUE(SameVersions(table.rep.get(), model, key.key)) << i;
        ASSERT_FALSE(table->InsertKey(allocated[i].second)) << i;
        const ModelKey earlier = KeyOf(i / 2);
        ASSERT_TRUE(SameVersions(table.rep.get(), model, earlier.key, earlier.sequence)) << i;
      }
      ASSERT_TRUE(SameLookups(&table, model));
      was_refused = refusal.refused_count() > 0;
    }
    EXPECT_GE(table->ApproximateMemoryUsage(), usage);
    ASSERT_TRUE(SameContent(table.rep.get(), model));
    table.arena.refuse = nullptr;
    // The next insert brings in what lagged, but for those that usually wait.
    constexpr uint64_t kUsuallyWaiting = TableCore<EncodedFace>::kMaxPending;
    ASSERT_TRUE(AddToBoth(table.rep.get(), &model, "~", 1));
    const TableStats stats = table.Stats();
    uint64_t keys = 0;
    for (auto entry = model.begin(); entry != model.end(); ++keys) entry = model.upper_bound({entry->first.key, 0});
    EXPECT_GE(stats.indexed_keys + stats.ascending_entries + kUsuallyWaiting, keys);
    for (uint64_t i = kEntries; i < 2 * kEntries; ++i) Add(&table, &model, i);
    ASSERT_TRUE(SameContent(table.rep.get(), model));
    ExpectDuplicates(&table, model);
    table.End();
    EXPECT_EQ(LentBytes(pool), 0u);
    ASSERT_FALSE(HasFailure());
    ASSERT_LT(granted, 1'000);
  }
}

// RocksDB's own way with exhausted memory then applies, as with the skip list.
TEST_P(RepRefusalTest, AllocateThrowsWhenNobodyHasMemoryAndGoesOnWhenSomebodyHas) {
  MallocChunkSource source;
  ChunkPool pool(UnpooledFrom(&source));
  FakeMemTable table(&pool);
  Model model;
  Fill(table.rep.get(), &model, GetParam());
  uint64_t throws = 0;
  for (uint64_t i = 0; i < kEntries; ++i) {
    for (int64_t granted = 0;; ++granted) {
      ASSERT_LT(granted, 20);
      try {
        const HeapRefusal refusal(HeapRefusal::Of::kChunks);
        table.arena.refuse = [left = granted](size_t) mutable { return left-- <= 0; };
        Add(&table, &model, i);
        break;
      } catch (const std::bad_alloc&) {
        ++throws;
      }
    }
    table.arena.refuse = nullptr;
    if (i % 100 == 0) {
      ASSERT_TRUE(SameContent(table.rep.get(), model));
    }
  }
  EXPECT_GT(throws, 20u);
  EXPECT_EQ(table->unappended_count(), 0u);
  ASSERT_TRUE(SameContent(table.rep.get(), model));
  ExpectDuplicates(&table, model);
}

INSTANTIATE_TEST_SUITE_P(Fillings, RepRefusalTest, testing::ValuesIn(kFillings), FillingName);

}  // namespace
}  // namespace strongbin
