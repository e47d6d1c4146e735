// What iterators of the RocksDB memtable promise, and where they live.
#include <cstdint>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/heap_probe.h"
#include "strongbin/tests/memtable/rocksdb/fake_engine.h"
#include "strongbin/tests/memtable/rocksdb/rep_fillings.h"
#include "strongbin/tests/memtable/rocksdb/rep_model.h"

namespace strongbin {
namespace {

class RepIteratorTest : public testing::TestWithParam<Filling> {
 protected:
  RepIteratorTest() { Fill(rep(), &model_, GetParam()); }
  Rep* rep() { return table_.rep.get(); }

  ChunkPool pool_;
  FakeMemTable table_{&pool_};
  Model model_;
};

TEST_P(RepIteratorTest, FreshIteratorsShowNothingUntilTheySeek) {
  const RepIteratorPtr iterator = OpenIterator(rep());
  EXPECT_FALSE(iterator->Valid());
  iterator->SeekToFirst();
  EXPECT_EQ(iterator->Valid(), !model_.empty());
}

// As a tailing iterator does.
TEST_P(RepIteratorTest, EverySeekSeesTheNewestEntries) {
  const RepIteratorPtr first = OpenIterator(rep()), last = OpenIterator(rep()), at = OpenIterator(rep()),
                       before = OpenIterator(rep()), lookup = OpenIterator(rep());
  for (uint64_t i = 0; i < 300; ++i) {
    const ModelKey key{NumberKey(Scramble(i), 20), 10'000 + i};
    ASSERT_TRUE(AddToBoth(rep(), &model_, key.key, key.sequence));
    first->SeekToFirst();
    ASSERT_TRUE(SamePlace(*first, &*model_.begin()));
    last->SeekToLast();
    ASSERT_TRUE(SamePlace(*last, &*model_.rbegin()));
    const std::string internal_key = InternalKeyOf(key.key, key.sequence);
    at->Seek(internal_key, nullptr);
    ASSERT_TRUE(SamePlace(*at, &*model_.find(key)));
    before->SeekForPrev(internal_key, nullptr);
    ASSERT_TRUE(SamePlace(*before, &*model_.find(key)));
    const ROCKSDB_NAMESPACE::LookupKey lookup_key(key.key, key.sequence);
    lookup->Seek(lookup_key.internal_key(), lookup_key.memtable_key().data());
    ASSERT_TRUE(SamePlace(*lookup, &*model_.find(key)));
  }
}

// RocksDB's tailing iterators let go of a memtable and of its iterators in the order of their addresses.
TEST_P(RepIteratorTest, IteratorsCanBeDestroyedAfterTheirMemtable) {
  std::vector<RepIteratorPtr> iterators;
  for (int i = 0; i < 40; ++i) {
    iterators.push_back(OpenIterator(rep()));
    if (i % 3 == 1) iterators.back()->SeekToFirst();
    if (i % 3 == 2) iterators.back()->SeekToLast();
  }
  for (size_t i = 0; i < iterators.size(); i += 2) iterators[i].reset();
  table_.rep.reset();
  iterators.clear();
  EXPECT_EQ(LentBytes(pool_), 0u);
}

// RocksDB goes back by Seek and Prev, from entries and from places between them, and from behind all by SeekToLast.
TEST_P(RepIteratorTest, PrevAfterSeekShowsTheEntryBefore) {
  const RepIteratorPtr iterator = OpenIterator(rep());
  for (auto entry = model_.begin(); entry != model_.end(); ++entry) {
    for (const Sequence sequence : {entry->first.sequence, entry->first.sequence + 1}) {
      iterator->Seek(InternalKeyOf(entry->first.key, sequence), nullptr);
      ASSERT_TRUE(iterator->Valid());
      const auto at = model_.lower_bound({entry->first.key, sequence});
      ASSERT_TRUE(SamePlace(*iterator, &*at));
      iterator->Prev();
      ASSERT_TRUE(SamePlace(*iterator, at == model_.begin() ? nullptr : &*std::prev(at)));
    }
  }
}

TEST_P(RepIteratorTest, RoomIsUsedAgainHoweverAnIteratorEnds) {
  constexpr size_t kKept = 16, kMany = 40;
  const auto news_of = [](const auto& body) {
    const uint64_t before = HeapNews();
    body();
    return HeapNews() - before;
  };
  std::vector<RepIteratorPtr> open;
  open.reserve(kMany);
  const auto open_some = [&](size_t count) {
    while (open.size() < count) {
      open.push_back(OpenIterator(rep(), open.size() % 2 == 0 ? IteratorEnd::kDelete : IteratorEnd::kDestructor));
    }
  };
  EXPECT_EQ(news_of([&] { open_some(kMany); }), kMany);
  for (const RepIteratorPtr& iterator : open) {
    iterator->SeekToLast();
    ASSERT_TRUE(SamePlace(*iterator, model_.empty() ? nullptr : &*model_.rbegin()));
  }
  std::thread([&] { open.clear(); }).join();
  EXPECT_EQ(news_of([&] { open_some(kKept); }), 0u);
  EXPECT_EQ(news_of([&] { open_some(kKept + 1); }), 1u);
  for (int round = 0; round < 100; ++round) {
    open.pop_back();
    ASSERT_EQ(news_of([&] { open_some(kKept + 1); }), 0u);
  }
}

// Where RocksDB keeps one: MarkFlushed comes while iterators still read.
TEST_P(RepIteratorTest, IteratorsReadOnAfterMarkReadOnlyAndMarkFlushed) {
  const RepIteratorPtr old = OpenIterator(rep());
  old->SeekToFirst();
  rep()->MarkReadOnly();
  rep()->MarkFlushed();
  for (const ModelEntry& entry : model_) {
    ASSERT_TRUE(SamePlace(*old, &entry));
    old->Next();
  }
  EXPECT_FALSE(old->Valid());
  ASSERT_TRUE(SameContent(table_.rep.get(), model_));
}

INSTANTIATE_TEST_SUITE_P(Fillings, RepIteratorTest, testing::ValuesIn(kFillings), FillingName);

// Sorted in one piece with scratch, then in many small ones that are merged; keys with and without common bytes.
TEST(RepLargeIteratorTest, ManyRunsAreWalkedAsOne) {
  for (const char* prefix : {"", "a table's id, and more than that "}) {
    ChunkPool pool;
    FakeMemTable table(&pool);
    Model model;
    Random random(5);
    const auto add = [&](uint64_t count) {
      for (uint64_t i = 0; i < count; ++i) {
        const std::string key = prefix + std::to_string(Below(&random, 50'000));
        AddToBoth(table.rep.get(), &model, key, Below(&random, 40));
      }
    };
    const RepIteratorPtr iterator = OpenIterator(table.rep.get());
    add(Scaled(150'000, 80'000));
    // Rising sizes are merged again and again, steeply falling ones stay, and small ones go into the delta.
    for (const uint64_t size : {1u, 2u, 3u, 5u, 50u, 500u, 3'000u, 1'200u, 500u, 200u, 80u, 30u, 10u, 3u, 1u}) {
      iterator->SeekToLast();
      ASSERT_TRUE(SamePlace(*iterator, &*model.rbegin()));
      add(size);
    }
    ASSERT_TRUE(SameWalk(table.rep.get(), model, /*forward=*/true));
    ASSERT_TRUE(SameWalk(table.rep.get(), model, /*forward=*/false));
    EXPECT_GE(table.Stats().runs, 3u);
    EXPECT_GE(table.Stats().merges, 2u);
    EXPECT_GT(table.Stats().delta_entries, 0u);
    for (uint64_t i = 0; i < 2'000; ++i) {
      const ModelKey target{prefix + std::to_string(Below(&random, 50'000)), Below(&random, 41)};
      iterator->Seek(InternalKeyOf(target.key, target.sequence), nullptr);
      auto expected = model.lower_bound(target);
      for (uint64_t step = 0; step < 8; ++step) {
        ASSERT_TRUE(SamePlace(*iterator, expected == model.end() ? nullptr : &*expected));
        const bool forward = OneIn(&random, 2);
        if (expected == model.end() || (!forward && expected == model.begin())) break;
        forward ? iterator->Next() : iterator->Prev();
        forward ? ++expected : --expected;
      }
    }
  }
}

}  // namespace
}  // namespace strongbin
