// Each call of RocksDB's interface while the heap refuses its n-th request, for every n: chunks, lists of chunks, small
// objects, RocksDB's own arena. A call may throw std::bad_alloc where RocksDB has no other answer; nothing else is
// lost.
#include <cstdint>
#include <new>
#include <string>
#include <unordered_set>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/heap_probe.h"
#include "strongbin/tests/memtable/rocksdb/fake_engine.h"
#include "strongbin/tests/memtable/rocksdb/rep_fillings.h"
#include "strongbin/tests/memtable/rocksdb/rep_model.h"

namespace strongbin {
namespace {

// Runs it with ever more requests granted until none is refused. How often it threw.
template <class Call>
uint64_t UntilNothingIsRefused(const Call& call) {
  uint64_t throws = 0;
  for (int64_t granted = 0;; ++granted) {
    const HeapRefusal refusal(HeapRefusal::Of::kEverything, granted);
    try {
      call();
    } catch (const std::bad_alloc&) {
      ++throws;
    }
    if (refusal.refused_count() == 0 || granted > 500) return throws;
  }
}

class RepHeapFailureTest : public testing::TestWithParam<Filling> {
 protected:
  RepHeapFailureTest() { Fill(table_.rep.get(), &model_, GetParam()); }
  void TearDown() override {
    if (table_.rep == nullptr) return;
    ASSERT_TRUE(SameContent(table_.rep.get(), model_));
    EXPECT_EQ(table_.charge->Now().held(), table_->memory().held_bytes());
    table_.End();
    EXPECT_EQ(LentBytes(pool_), 0u);
    EXPECT_EQ(table_.charge->Now().held(), 0u);
    EXPECT_TRUE(table_.charge->Now().in_order);
  }
  void Add(uint64_t number) {
    ASSERT_TRUE(AddToBoth(table_.rep.get(), &model_, NumberKey(Scramble(number), 20), 20'000 + number));
  }

  MallocChunkSource source_;
  ChunkPool pool_{UnpooledFrom(&source_)};
  FakeMemTable table_{&pool_};
  Model model_;
};

TEST_P(RepHeapFailureTest, AllocateThrowsOrIsFollowedByAnInsert) {
  constexpr size_t kValueBytes[] = {0, 10, 3'000, 300'000};
  uint64_t throws = 0;
  for (uint64_t number = 0; number < Scaled(400, 100); ++number) {
    const std::string key = number % 5 == 0 ? "hot" : NumberKey(Scramble(number), 20);
    const std::string value(kValueBytes[number % 97 == 0 ? 3 : number % 3], 'v');
    const FakeEntry entry{.key = key, .sequence = 20'000 + number, .value = value};
    for (int64_t granted = 0;; ++granted) {
      ASSERT_LT(granted, 200);
      bool is_new = false;
      {
        const HeapRefusal refusal(HeapRefusal::Of::kEverything, granted);
        ROCKSDB_NAMESPACE::KeyHandle handle = nullptr;
        try {
          handle = AllocateEntry(table_.rep.get(), entry);
        } catch (const std::bad_alloc&) {
          ++throws;
          continue;
        }
        // Outside the try: an insert may not throw, whatever is refused.
        is_new = table_->InsertKey(handle);
      }
      ASSERT_TRUE(is_new);
      model_.emplace(ModelKey{key, entry.sequence},
                     ModelValue{EntryKind::kPut, std::make_shared<const std::string>(value)});
      break;
    }
    ASSERT_TRUE(SameVersions(table_.rep.get(), model_, key));
  }
  EXPECT_GT(throws, 5u);
}

TEST_P(RepHeapFailureTest, LookupsNeedNoMemory) {
  Add(0);
  const ROCKSDB_NAMESPACE::LookupKey key(NumberKey(Scramble(0), 20), kMaxSequence);
  const auto stop = [](void* seen, const char*) { return ++*static_cast<uint64_t*>(seen), false; };
  uint64_t seen = 0;
  table_->Get(key, &seen, stop);  // RocksDB's own call makes an iterator once
  EXPECT_EQ(UntilNothingIsRefused([&] { table_->Get(key, &seen, stop); }), 0u);
  EXPECT_GE(seen, 2u);
}

TEST_P(RepHeapFailureTest, IteratorsThrowAndLaterShowEverything) {
  for (uint64_t number = 0; number < 300; ++number) Add(number);
  EXPECT_GT(UntilNothingIsRefused([&] {
              const RepIteratorPtr iterator = OpenIterator(table_.rep.get());
              iterator->SeekToFirst();
              if (!SamePlace(*iterator, &*model_.begin())) ADD_FAILURE();
            }),
            0u);
}

TEST_P(RepHeapFailureTest, CountsSamplesAndTheRestThrowOrAnswer) {
  for (uint64_t number = 0; number < 300; ++number) Add(number);
  const std::string first = InternalKeyOf("", kMaxSequence), last = InternalKeyOf(std::string(64, '\xFF'), 0);
  UntilNothingIsRefused([&] { EXPECT_EQ(table_->ApproximateNumEntries(first, last), model_.size()); });
  UntilNothingIsRefused([&] {
    std::unordered_set<const char*> sample;
    table_->UniqueRandomSample(model_.size(), 10, &sample);
    for (const char* entry : sample) {
      const FakeEntry shown = Decode(entry);
      if (shown.sequence == 0) ADD_FAILURE();
    }
  });
  EXPECT_EQ(UntilNothingIsRefused([&] { (void)table_->ApproximateMemoryUsage(); }), 0u);
  EXPECT_EQ(UntilNothingIsRefused([&] { table_->MarkReadOnly(); }), 0u);
  EXPECT_EQ(UntilNothingIsRefused([&] { table_->MarkFlushed(); }), 0u);
}

TEST_P(RepHeapFailureTest, TheEndNeedsNoMemory) {
  for (uint64_t number = 0; number < 300; ++number) Add(number);
  ASSERT_TRUE(SameContent(table_.rep.get(), model_));
  {
    const HeapRefusal refusal(HeapRefusal::Of::kEverything);
    table_.End();
  }
  EXPECT_EQ(LentBytes(pool_), 0u);
}

INSTANTIATE_TEST_SUITE_P(Fillings, RepHeapFailureTest, testing::ValuesIn(kFillings), FillingName);

}  // namespace
}  // namespace strongbin
