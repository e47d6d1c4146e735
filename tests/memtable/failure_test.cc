// Memory refused at the n-th request, for every n until the operation succeeds.
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/table_model.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

class FailureTest : public testing::TestWithParam<bool> {
 protected:
  AppendOnlyMemtable NewTable() { return AppendOnlyMemtable({.pool = &pool_, .checksum_entries = GetParam()}); }

  void Add(AppendOnlyMemtable* table, const std::string& key, Sequence sequence, const std::string& value) {
    ASSERT_TRUE(table->Put(key, sequence, value).ok());
    model_.emplace(ModelKey{key, sequence}, ModelValue{EntryKind::kPut, std::make_shared<std::string>(value)});
  }
  // Runs `operation` with ever more requests granted until it succeeds; after each refusal the table must hold what it
  // held. `published` is the newest snapshot that a reader may have; nothing of the operation may be seen at it.
  void FailUntilItSucceeds(AppendOnlyMemtable* table, const std::function<Status()>& operation) {
    for (int64_t granted = 0; granted < 1000; ++granted) {
      source_.RefuseAfter(granted);
      const Status status = operation();
      source_.GrantAll();
      if (status.ok()) {
        refusals_ += granted;
        return;
      }
      ASSERT_EQ(status.code(), Status::Code::kOutOfMemory) << "request " << granted;
      ASSERT_TRUE(SameContent(*table, model_)) << "after the refusal of request " << granted;
      ASSERT_EQ(table->MemoryUsage(), LentBytes(pool_));
    }
    FAIL() << "never succeeded";
  }

  RefusingSource source_;
  ChunkPool pool_{UnpooledFrom(&source_)};
  Model model_;
  int64_t refusals_ = 0;
};

TEST_P(FailureTest, PutsAreWholeOrNotThere) {
  for (const bool ascending : {true, false}) {
    AppendOnlyMemtable table = NewTable();
    model_.clear();
    refusals_ = 0;
    for (uint64_t i = 0; i < Scaled(400, 150); ++i) {
      const std::string key = NumberKey(ascending ? i : Scramble(i), i % 3 == 0 ? 8 : 100);
      const std::string value(i % 5 * 100, 'v');
      source_.GrantAll();
      FailUntilItSucceeds(&table, [&] { return table.Put(key, i, value); });
      if (HasFatalFailure()) return;
      model_.emplace(ModelKey{key, i}, ModelValue{EntryKind::kPut, std::make_shared<std::string>(value)});
    }
    EXPECT_GT(refusals_, 10);
    ASSERT_TRUE(SameContent(table, model_));
  }
}

TEST_P(FailureTest, BaseThatIsBeingSealedSurvivesRefusals) {
  for (const uint64_t base : {1u, 63u, 64u, 65u}) {
    AppendOnlyMemtable table = NewTable();
    model_.clear();
    // Several versions each, so that sealing makes version lists too.
    for (uint64_t i = 0; i < base; ++i) Add(&table, NumberKey(i / 4, 12), 100 - i % 4, "base");
    FailUntilItSucceeds(&table, [&] { return table.Put("!", 1000, "before all others"); });
    if (HasFatalFailure()) return;
    model_.emplace(ModelKey{"!", 1000},
                   ModelValue{EntryKind::kPut, std::make_shared<std::string>("before all others")});
    ASSERT_TRUE(SameContent(table, model_));
    // Ascending writes go on after a refused seal, too.
    Add(&table, NumberKey(1'000, 12), 7, "later");
    ASSERT_TRUE(SameContent(table, model_));
  }
}

TEST_P(FailureTest, RefusedSealThenAscendingWritesThenSeal) {
  AppendOnlyMemtable table = NewTable();
  for (uint64_t i = 0; i < 40; ++i) Add(&table, NumberKey(i / 4, 12), 100 - i % 4, "base");
  for (int64_t granted = 0; granted < 4; ++granted) {
    source_.RefuseAfter(granted);
    const Status status = table.Put("!", 1000 + static_cast<Sequence>(granted), "");
    source_.GrantAll();
    if (status.ok()) {
      model_.emplace(ModelKey{"!", 1000 + static_cast<Sequence>(granted)},
                     ModelValue{EntryKind::kPut, std::make_shared<std::string>()});
    }
    for (uint64_t i = 0; i < 20; ++i) {
      Add(&table, NumberKey(100 + static_cast<uint64_t>(granted) * 20 + i, 12), 50, "ascending still");
    }
    ASSERT_TRUE(SameContent(table, model_));
  }
  Add(&table, "!!", 5000, "sealed at last");
  ASSERT_TRUE(SameContent(table, model_));
  ASSERT_EQ(table.Put(NumberKey(0, 12), 100, "").code(), Status::Code::kDuplicate);
}

TEST_P(FailureTest, VersionsOfAHotKeyAreThereOrNot) {
  AppendOnlyMemtable table = NewTable();
  Add(&table, "later than hot", 1, "");  // so that the hot key is in the index from its first version on
  for (Sequence version = 2; version < Scaled(2'000, 700); ++version) {
    FailUntilItSucceeds(&table, [&] { return table.Put("hot", version, ""); });
    if (HasFatalFailure()) return;
    model_.emplace(ModelKey{"hot", version}, ModelValue{EntryKind::kPut, std::make_shared<std::string>()});
  }
  EXPECT_GT(refusals_, 10);
  ASSERT_TRUE(SameContent(table, model_));
}

TEST_P(FailureTest, BatchesAreWholeOrNotThereAtAnySnapshot) {
  for (const bool ascending : {true, false}) {
    AppendOnlyMemtable table = NewTable();
    model_.clear();
    if (!ascending) Add(&table, "z", 1, "");
    Sequence sequence = 10;
    for (uint64_t round = 0; round < 12; ++round) {
      std::vector<std::string> keys;
      for (uint64_t i = 0; i < 100; ++i) {
        const uint64_t number = round * 100 + i;
        // Each fifth is a further version of an earlier key.
        keys.push_back(NumberKey(ascending ? number : Scramble(i % 5 == 0 ? number % 200 : number), 30));
      }
      std::vector<Write> batch;
      for (const std::string& key : keys) batch.push_back({.key = key, .sequence = sequence++, .value = key});
      FailUntilItSucceeds(&table, [&] { return table.AppendBatch(batch); });
      if (HasFatalFailure()) return;
      for (const Write& write : batch) {
        model_.emplace(ModelKey{std::string(write.key), write.sequence},
                       ModelValue{EntryKind::kPut, std::make_shared<std::string>(write.value)});
      }
      ASSERT_TRUE(SameContent(table, model_));
    }
  }
}

TEST_P(FailureTest, OutOfOrderBatchThatFailsHidesAllItsEntries) {
  AppendOnlyMemtable table = NewTable();
  for (uint64_t i = 0; i < 50; ++i) Add(&table, NumberKey(Scramble(i), 20), 1000 + i, "newer");
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 50; ++i) keys.push_back(NumberKey(Scramble(i), 20));
  std::vector<Write> batch;
  for (uint64_t i = 0; i < 50; ++i)
    batch.push_back({.key = keys[i], .sequence = 100 + i, .value = std::string_view(keys[i])});
  const std::string large(100'000, 'l');
  batch.push_back({.key = "the last one needs memory", .sequence = 500, .value = large});
  for (int repeat = 0; repeat < 5; ++repeat) {  // dead versions of one key pile up
    source_.RefuseAfter(0);
    Status status = table.AppendBatch(batch);
    source_.GrantAll();
    ASSERT_FALSE(status.ok());
    ASSERT_TRUE(SameContent(table, model_));
    for (uint64_t i = 0; i < 50; ++i) {
      ASSERT_EQ(table.Get(keys[i], 999).status.code(), Status::Code::kNotFound);
      ASSERT_EQ(table.Get(keys[i], 100 + i).status.code(), Status::Code::kNotFound);
    }
    // The same with a duplicate at the end.
    batch.back() = {.key = keys[0], .sequence = 1000};
    ASSERT_EQ(table.AppendBatch(batch).code(), Status::Code::kDuplicate);
    ASSERT_TRUE(SameContent(table, model_));
    batch.back() = {.key = "the last one needs memory", .sequence = 500, .value = large};
  }
  ASSERT_TRUE(table.AppendBatch(batch).ok());
  EXPECT_EQ(table.Get(keys[7], 999).sequence, 107u);
  EXPECT_EQ(table.entry_count(), 101u);
}

// Its dead versions stay in the lists, so what comes later with lower numbers is not the newest there.
TEST_P(FailureTest, VersionsBelowThoseOfABatchThatFailedAreFoundInTheirOrder) {
  AppendOnlyMemtable table = NewTable();
  Add(&table, "b", 1, "b");
  Add(&table, "a", 2, "a");
  const std::string key = "counter";
  for (Sequence lowest = 10; lowest < 5'000; lowest += 100) {
    std::vector<Write> batch;
    for (Sequence sequence = lowest + 50; sequence < lowest + 60; ++sequence) {
      batch.push_back({.key = key, .sequence = sequence, .value = "dead"});
    }
    batch.push_back({.key = "a", .sequence = 2, .value = "duplicate"});
    ASSERT_EQ(table.AppendBatch(batch).code(), Status::Code::kDuplicate);
    for (const Sequence step : {1u, 5u, 3u, 20u, 10u, 55u, 52u}) Add(&table, key, lowest + step, std::to_string(step));
    if (HasFatalFailure()) return;
  }
  ASSERT_TRUE(SameContent(table, model_));
  for (Sequence snapshot = 0; snapshot < 5'100; ++snapshot) {
    const auto wanted = model_.lower_bound(ModelKey{key, snapshot});
    const bool is_there = wanted != model_.end() && wanted->first.key == key;
    const auto found = table.Get(key, snapshot);
    ASSERT_EQ(found.status.ok(), is_there) << snapshot;
    if (is_there) {
      ASSERT_EQ(found.sequence, wanted->first.sequence) << snapshot;
    }
  }
}

TEST_P(FailureTest, FilledValuesAndReservationsAnswerOutOfMemory) {
  AppendOnlyMemtable table = NewTable();
  Add(&table, "z", 1, "z");
  FailUntilItSucceeds(&table, [&] {
    return table.AppendFilled({.key = "a key of many bytes", .sequence = 5}, 5000, [](std::span<char> room) {
      std::fill(room.begin(), room.end(), 'f');
      return true;
    });
  });
  if (HasFatalFailure()) return;
  model_.emplace(ModelKey{"a key of many bytes", 5},
                 ModelValue{EntryKind::kPut, std::make_shared<std::string>(5000, 'f')});
  FailUntilItSucceeds(&table, [&] { return table.Reserve({1000, 100'000, 100'000}); });
  ASSERT_TRUE(SameContent(table, model_));
}

TEST_P(FailureTest, SeeksAnswerOutOfMemoryAndLaterSucceed) {
  AppendOnlyMemtable table = NewTable();
  MemtableIterator iterator = table.NewIterator();
  for (uint64_t round = 0; round < 6; ++round) {
    for (uint64_t i = 0; i < 300; ++i) Add(&table, NumberKey(Scramble(round * 300 + i), 20), round * 300 + i, "v");
    const size_t usage = table.MemoryUsage();
    for (int64_t granted = 0;; ++granted) {
      ASSERT_LT(granted, 100);
      source_.RefuseAfter(granted);
      MemtableIterator made_now = table.NewIterator();
      for (MemtableIterator* each : {&iterator, &made_now}) {
        if (granted % 2 == 0) {
          each->Seek("05");
        } else {
          each->SeekToLast();
        }
      }
      source_.GrantAll();
      ASSERT_EQ(iterator.status().ok(), iterator.Valid());
      if (iterator.Valid()) break;
      ASSERT_EQ(iterator.status().code(), Status::Code::kOutOfMemory);
      ASSERT_EQ(table.MemoryUsage(), LentBytes(pool_));
      ASSERT_EQ(table.MemoryUsage(), usage);
    }
    ASSERT_TRUE(SameContent(table, model_));
  }
}

TEST_P(FailureTest, ResetsReadsAndStatisticsNeedNoChunks) {
  AppendOnlyMemtable table = NewTable();
  for (uint64_t i = 0; i < 300; ++i) Add(&table, NumberKey(Scramble(i), 20), i, "v");
  source_.RefuseAfter(0);
  EXPECT_TRUE(table.Get(NumberKey(Scramble(1), 20)).found());
  EXPECT_EQ(table.Stats().entries, 300u);
  pool_.OnMemoryPressure();
  { MemtableIterator iterator = table.NewIterator(); }
  ASSERT_TRUE(table.ResetWarm().ok());
  ASSERT_EQ(table.Put("k", 1, "v").code(), Status::Code::kOutOfMemory);
  ASSERT_TRUE(table.ResetCold().ok());
  ASSERT_TRUE(table.ResetHard().ok());
  source_.GrantAll();
  ASSERT_TRUE(table.Put("k", 1, "v").ok());
  source_.RefuseAfter(0);
  ASSERT_TRUE(table.ReleaseCold().ok());
  EXPECT_EQ(LentBytes(pool_), 0u);
}

// Two writers, a reader and resets while every third request or so is refused: no call hangs, nothing accepted is lost.
TEST_P(FailureTest, RefusalsUnderTrafficLeaveNoLockHeld) {
  AppendOnlyMemtable table = NewTable();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  std::atomic<uint64_t> wrong{0};
  for (uint64_t writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      Random random(writer);
      for (Sequence i = 1; !stop; ++i) {
        const std::string key = NumberKey(random(), 20) + (writer == 0 ? "a" : "b");
        ReadPin pin = table.Pin();
        const Status status = table.Put(key, i, key);
        if (status.ok() ? table.Get(key).value != key : status != Status::Code::kOutOfMemory) wrong.fetch_add(1);
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop) {
      MemtableIterator iterator = table.NewIterator();
      iterator.Seek("05");
      for (int i = 0; i < 100 && iterator.Valid(); ++i) iterator.Next();
      (void)table.Stats();
    }
  });
  Random random(77);
  for (int round = 0; round < 300; ++round) {
    source_.RefuseAfter(static_cast<int64_t>(Below(&random, 8)));
    std::this_thread::yield();
    pool_.OnMemoryPressure();
    if (round % 3 == 0) {
      const Status status = table.ResetWarm();
      ASSERT_TRUE(status.ok() || status == Status::Code::kBusy);
    }
    source_.GrantAll();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  ASSERT_TRUE(table.ResetCold().ok());
  EXPECT_EQ(LentBytes(pool_), 0u);
}

INSTANTIATE_TEST_SUITE_P(Checksums, FailureTest, testing::Bool());

}  // namespace
}  // namespace strongbin
