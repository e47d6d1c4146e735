// Order that is kept while writes and ordered reads take turns.
#include <atomic>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/on_threads.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

constexpr ReadOptions kAllVersions = {.all_versions = true};

class OrderedRunsTest : public testing::Test {
 protected:
  OrderedRunsTest() : pool_(UnpooledFrom(&source_)), table_({.pool = &pool_, .freeze_bytes = size_t{1} << 30}) {}

  void Put(const std::string& key) { Put(key, ++sequence_); }
  void Put(const std::string& key, Sequence sequence) {
    ASSERT_TRUE(table_.Put(key, sequence, "").ok());
    model_[{key, kMaxSequence - sequence}] = sequence;
  }
  // `count` keys, all different, over the whole range.
  void PutMany(uint64_t count, const std::string& common = "") {
    for (uint64_t i = 0; i < count; ++i) Put(common + NumberKey(Scramble(next_++), 20));
  }
  // What a table has that has been read in order and is written to again.
  void Sort() { table_.NewIterator(kAllVersions).SeekToFirst(); }

  using Model = std::map<std::pair<std::string, Sequence>, Sequence>;
  static void ExpectAt(const MemtableIterator& iterator, const Model& model, Model::const_iterator expected) {
    ASSERT_TRUE(iterator.status().ok());
    ASSERT_EQ(iterator.Valid(), expected != model.end());
    if (!iterator.Valid()) return;
    ASSERT_EQ(iterator.key(), expected->first.first);
    ASSERT_EQ(iterator.sequence(), expected->second);
  }
  // The positioned iterator and the model walk to and fro together.
  void ExpectSameWalk(MemtableIterator* iterator, const Model& model, Model::const_iterator expected, Random* random) {
    for (uint64_t step = 0; step < 50; ++step) {
      ExpectAt(*iterator, model, expected);
      if (HasFatalFailure() || expected == model.end()) return;
      if (OneIn(random, 3)) {
        iterator->Prev();
        expected = expected == model.begin() ? model.end() : std::prev(expected);
      } else {
        iterator->Next();
        ++expected;
      }
    }
  }
  void ExpectAll() {
    MemtableIterator iterator = table_.NewIterator(kAllVersions);
    iterator.SeekToFirst();
    for (auto at = model_.begin(); at != model_.end(); ++at, iterator.Next()) {
      ASSERT_NO_FATAL_FAILURE(ExpectAt(iterator, model_, at));
    }
    ASSERT_FALSE(iterator.Valid());
    iterator.SeekToLast();
    for (auto at = model_.end(); at != model_.begin(); iterator.Prev()) {
      ASSERT_NO_FATAL_FAILURE(ExpectAt(iterator, model_, --at));
    }
    ASSERT_FALSE(iterator.Valid());
  }

  RefusingSource source_;
  ChunkPool pool_;
  AppendOnlyMemtable table_;
  Sequence sequence_ = 0;
  uint64_t next_ = 0;
  Model model_;
};

TEST_F(OrderedRunsTest, ScanAfterEachWriteMakesNeitherASortNorARun) {
  PutMany(10'000);
  Sort();
  const TableStats before = table_.Stats();
  MemtableIterator iterator = table_.NewIterator();
  for (uint64_t i = 0; i < 500; ++i) {
    PutMany(1);
    iterator.SeekToFirst();
  }
  const TableStats after = table_.Stats();
  EXPECT_EQ(after.sorts, before.sorts);
  EXPECT_EQ(after.merges, before.merges);
  EXPECT_EQ(after.runs, before.runs);
  EXPECT_EQ(after.delta_inserts, 500u);
  EXPECT_EQ(after.delta_entries, 500u);
  EXPECT_EQ(after.delta_seals, 0u);
  ExpectAll();
}

TEST_F(OrderedRunsTest, FullDeltaBecomesARunAndAllStaysInOrder) {
  PutMany(1'000);
  Sort();
  MemtableIterator iterator = table_.NewIterator();
  for (uint64_t i = 0; i < 2'000; ++i) {
    PutMany(1 + i % 3);
    iterator.SeekToFirst();
  }
  const TableStats stats = table_.Stats();
  EXPECT_GT(stats.delta_seals, 3u);
  EXPECT_LT(stats.delta_entries, stats.entries / 4);
  EXPECT_EQ(stats.sorts, 1u);
  EXPECT_EQ(stats.sorted_entries + stats.delta_inserts, stats.entries);
  ExpectAll();
}

TEST_F(OrderedRunsTest, ManyWritesAtOnceAreSortedBesideTheDelta) {
  PutMany(5'000);
  Sort();
  PutMany(10);
  Sort();
  PutMany(3'000);
  Sort();
  const TableStats stats = table_.Stats();
  EXPECT_EQ(stats.sorts, 2u);
  EXPECT_EQ(stats.delta_entries, 10u);
  ExpectAll();
}

// The delta is shared: what others add to it after a seek must not move under the iterator.
TEST_F(OrderedRunsTest, IteratorWalksOverWhatWasThereAtItsSeek) {
  Random random(5);
  for (uint64_t round = 0; round < 200; ++round) {
    PutMany(round == 0 ? 2'000 : 1 + Below(&random, 10));
    MemtableIterator iterator = table_.NewIterator(kAllVersions);
    const std::string target = NumberKey(Below(&random, 10), 1);
    iterator.Seek(target);
    const Model model = model_;
    PutMany(1 + Below(&random, 5));
    Sort();
    ASSERT_NO_FATAL_FAILURE(ExpectSameWalk(&iterator, model, model.lower_bound({target, 0}), &random));
    iterator.Seek(target);
    ASSERT_NO_FATAL_FAILURE(ExpectSameWalk(&iterator, model_, model_.lower_bound({target, 0}), &random));
  }
}

TEST_F(OrderedRunsTest, VersionsOfOneKeyInRunAndDelta) {
  for (uint64_t i = 0; i < 300; ++i) Put("counter");
  Sort();
  for (uint64_t i = 0; i < 40; ++i) {
    Put("counter");
    Put(i % 2 == 0 ? "count" : "counters");
    Sort();
  }
  EXPECT_GT(table_.Stats().delta_entries, 0u);
  ExpectAll();
  MemtableIterator iterator = table_.NewIterator();
  iterator.Seek("counter");
  ASSERT_TRUE(iterator.Valid());
  EXPECT_EQ(iterator.sequence(), sequence_ - 1);
}

// A sort has twelve bytes of each key in its records. Where these tell all, it does not look at the keys again.
TEST_F(OrderedRunsTest, VersionsOfKeysThatRecordsTellOrDoNotTellApart) {
  const std::string start = "0123456789", zero(1, '\0');
  const std::vector<std::vector<std::string>> families = {
      {"b", "a", "c"},                                      // all is in the records
      {"b", "b" + zero, "b" + zero + zero, "a"},            // but for the lengths
      {start + "1same tail", start + "2same tail"},         // and the same tail behind them
      {start + "00y", start + "00x", start + "00", start},  // the end decides
      {start + "00" + zero, start + "00", start + "00" + zero + zero},
      {"x" + start + "00y", "y" + start + "00x", "x" + start + "00x"},
  };
  for (const bool in_order : {true, false}) {
    for (const std::vector<std::string>& family : families) {
      ASSERT_TRUE(table_.ResetWarm().ok());
      model_.clear();
      Random random(7);
      for (uint64_t stretch = 0; stretch < 3; ++stretch) {
        for (uint64_t i = 0; i < 1'000; i += 2) {
          sequence_ += 2;
          // Of two neighbours the later one is the older version, or not.
          const std::string& key = family[Below(&random, family.size())];
          Put(key, in_order ? sequence_ - 1 : sequence_);
          Put(OneIn(&random, 2) ? key : family[0], in_order ? sequence_ : sequence_ - 1);
        }
        ASSERT_NO_FATAL_FAILURE(ExpectAll());
      }
    }
  }
}

TEST_F(OrderedRunsTest, KeysThatDoNotBeginAsAllBeforeThem) {
  PutMany(1'000, std::string(64, 'm'));
  Sort();
  PutMany(20, std::string(64, 'm'));
  Sort();
  PutMany(20, std::string(30, 'm'));
  Sort();
  for (const char* key : {"", "a", "z"}) {
    Put(key);
    Sort();
  }
  PutMany(20, std::string(64, 'm'));
  ExpectAll();
  MemtableIterator iterator = table_.NewIterator(kAllVersions);
  for (const std::string& target : {std::string(), std::string("b"), std::string(64, 'm'), std::string("zz")}) {
    iterator.Seek(target);
    ExpectAt(iterator, model_, model_.lower_bound({target, 0}));
    iterator.SeekForPrev(target);
    const auto behind = model_.upper_bound({target, kMaxSequence});
    ExpectAt(iterator, model_, behind == model_.begin() ? model_.end() : std::prev(behind));
  }
}

TEST_F(OrderedRunsTest, DeltaOfAFailedBatchAloneIsEmpty) {
  const std::string common(64, 'm');
  PutMany(1'000, common);
  Sort();
  const std::string fresh = common + "fresh", present(model_.begin()->first.first);
  const Write batch[] = {{.key = fresh, .sequence = sequence_ + 1},
                         {.key = present, .sequence = model_.begin()->second}};
  ASSERT_EQ(table_.AppendBatch(batch).code(), Status::Code::kDuplicate);
  MemtableIterator iterator = table_.NewIterator(kAllVersions);
  for (const std::string& target : {present, std::string("a"), fresh}) {
    iterator.Seek(target);
    ExpectAt(iterator, model_, model_.lower_bound({target, 0}));
  }
  EXPECT_EQ(table_.Stats().delta_entries, 0u);
  ExpectAll();
}

// Keys of one long prefix whose table was never sorted at once: the first deltas find out what they share.
TEST_F(OrderedRunsTest, DeltasLearnWhatTheirKeysShare) {
  const std::string common(64, 'p');
  for (uint64_t i = 0; i < 3'000; ++i) {
    PutMany(1, common);
    if (i % 2 == 0) Sort();
  }
  Put("other");
  Sort();
  ExpectAll();
}

TEST_F(OrderedRunsTest, WithoutMemoryForADeltaAnOrderedReadSaysSoAndWorksLater) {
  PutMany(2'000);
  Sort();
  uint64_t refused = 0;
  for (uint64_t i = 0; i < 600; ++i) {
    PutMany(1);
    MemtableIterator iterator = table_.NewIterator(kAllVersions);
    source_.RefuseAfter(static_cast<int64_t>(i % 3));
    iterator.SeekToFirst();
    if (!iterator.status().ok()) {
      EXPECT_EQ(iterator.status().code(), Status::Code::kOutOfMemory);
      EXPECT_FALSE(iterator.Valid());
      ++refused;
    }
    source_.GrantAll();
    iterator.SeekToFirst();
    ASSERT_NO_FATAL_FAILURE(ExpectAt(iterator, model_, model_.begin()));
  }
  EXPECT_GT(refused, 0u);
  ExpectAll();
}

// Readers put entries into the delta and walk over it, in both directions, while a writer goes on.
TEST_F(OrderedRunsTest, ScansBesideAWriterSeeAllThatWasThereAndAreInOrder) {
  const uint64_t count = Scaled(20'000, 4'000);
  PutMany(1'000);
  Sort();
  std::atomic<Sequence> published{sequence_};
  OnThreads(3, [&](uint64_t number) {
    if (number == 0) {
      for (uint64_t i = 0; i < count; ++i) {
        ASSERT_TRUE(table_.Put(NumberKey(Scramble(1'000 + i), 20), 1'001 + i, "").ok());
        published.store(1'001 + i);
      }
      return;
    }
    Random random(number);
    while (published.load() < 1'000 + count) {
      const Sequence seen = published.load();
      MemtableIterator iterator = table_.NewIterator(kAllVersions);
      const Sequence wanted = 1 + Below(&random, seen);
      const std::string key = NumberKey(Scramble(wanted - 1), 20);
      iterator.Seek(key);
      ASSERT_TRUE(iterator.Valid());
      ASSERT_EQ(iterator.key(), key);
      std::vector<std::string> forward = {key};
      for (int i = 0; i < 20 && iterator.Valid(); ++i) {
        iterator.Next();
        if (!iterator.Valid()) break;
        ASSERT_LT(forward.back(), iterator.key());
        forward.emplace_back(iterator.key());
      }
      if (!iterator.Valid()) continue;
      while (forward.size() > 1) {
        ASSERT_EQ(iterator.key(), forward.back());
        iterator.Prev();
        forward.pop_back();
      }
      ASSERT_EQ(iterator.key(), key);
    }
  });
  const TableStats stats = table_.Stats();
  EXPECT_EQ(stats.entries, 1'000 + count);
}

}  // namespace
}  // namespace strongbin
