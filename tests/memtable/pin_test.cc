// Pins and iterators against resets, ends of tables and ends of threads.
#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

class PinTest : public testing::Test {
 protected:
  static void Fill(AppendOnlyMemtable* table, char letter, uint64_t count = 50) {
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(
          table->Put(std::string(20, letter) + NumberKey(Scramble(i), 20), i + 1, std::string(50, letter)).ok());
    }
  }
  // Reads all; every byte must be `letter`.
  static uint64_t CountOthers(MemtableIterator* iterator, char letter, uint64_t* seen = nullptr) {
    uint64_t others = 0, count = 0;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++count) {
      if (iterator->key().substr(0, 20) != std::string(20, letter) || iterator->value() != std::string(50, letter))
        ++others;
    }
    if (seen != nullptr) *seen = count;
    return others;
  }

  ChunkPool pool_;
};

// A reader of 'A' keys beside resets whose chunks go to a table of 'B' keys: never a 'B', or no iterator.
TEST_F(PinTest, ResetsNeverTakeMemoryFromUnderAnIterator) {
  AppendOnlyMemtable table({.pool = &pool_});
  AppendOnlyMemtable other({.pool = &pool_});
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0}, scans{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&, i] {
      while (!stop) {
        if (i == 0) {
          MemtableIterator iterator = table.NewIterator();
          wrong.fetch_add(CountOthers(&iterator, 'A'));
        } else if (const ReadPin pin = table.Pin()) {
          const LookupResult found = table.Get(std::string(20, 'A') + NumberKey(Scramble(3), 20));
          if (found.found() && found.value != std::string(50, 'A')) wrong.fetch_add(1);
        }
        scans.fetch_add(1);
      }
    });
  }
  const uint64_t rounds = WideTests() ? 1'000'000 : Scaled(3'000, 500);
  for (uint64_t round = 0; round < rounds || scans.load() < 100; ++round) {
    const Status filled =
        table.Put(std::string(20, 'A') + NumberKey(Scramble(round % 50), 20), round, std::string(50, 'A'));
    if (!filled.ok()) wrong.fetch_add(1);
    const Status status = round % 64 == 0  ? table.ResetCold(WhenBusy::kWait)
                          : round % 8 == 0 ? table.ResetWarm(WhenBusy::kWait)
                                           : table.ResetWarm();
    if (!status.ok() && status != Status::Code::kBusy) wrong.fetch_add(1);
    if (status.ok()) {
      Fill(&other, 'B', 10);
      ASSERT_TRUE(other.ResetWarm().ok());
    }
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong.load(), 0u);
  ASSERT_TRUE(table.ReleaseWarm().ok());
  EXPECT_EQ(LentBytes(pool_), 0u);
}

TEST_F(PinTest, IteratorReadsOnAfterItsTable) {
  for (const bool positioned : {true, false}) {
    auto table = std::make_unique<AppendOnlyMemtable>(MemtableOptions{.pool = &pool_});
    Fill(table.get(), 'A');
    MemtableIterator iterator = table->NewIterator();
    if (positioned) iterator.Seek("A");
    table.reset();
    uint64_t seen = 0;
    EXPECT_EQ(CountOthers(&iterator, 'A', &seen), 0u);
    EXPECT_EQ(seen, 50u);
    iterator.SeekToLast();
    EXPECT_TRUE(iterator.Valid());
    EXPECT_GT(LentBytes(pool_), 0u);
    iterator = AppendOnlyMemtable({.pool = &pool_}).NewIterator();
    EXPECT_EQ(LentBytes(pool_), 0u);
  }
}

TEST_F(PinTest, ViewsOutliveTheTableWithAPin) {
  auto table = std::make_unique<AppendOnlyMemtable>(MemtableOptions{.pool = &pool_});
  Fill(table.get(), 'A');
  ReadPin pin = table->Pin();
  const LookupResult found = table->Get(std::string(20, 'A') + NumberKey(Scramble(3), 20));
  table.reset();
  EXPECT_EQ(found.value, std::string(50, 'A'));
  EXPECT_GT(LentBytes(pool_), 0u);
  pin.Reset();
  EXPECT_EQ(LentBytes(pool_), 0u);
}

TEST_F(PinTest, TableAndItsReadersEndInAnyOrderOnAnyThread) {
  Random random(31);
  const int rounds = static_cast<int>(Scaled(300, 100));
  for (int round = 0; round < rounds; ++round) {
    auto table = std::make_unique<AppendOnlyMemtable>(MemtableOptions{.pool = &pool_});
    Fill(table.get(), 'A', 20);
    std::atomic<uint64_t> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back(
          [&wrong, iterator = table->NewIterator(), pin = table->Pin(), delay = Below(&random, 300)]() mutable {
            if (delay % 3 == 0) pin.Reset();
            for (uint64_t spin = 0; spin < delay; ++spin) std::this_thread::yield();
            wrong.fetch_add(CountOthers(&iterator, 'A'));
          });
    }
    if (round % 2 == 0) threads.emplace_back([moved = std::move(table)] {});
    table.reset();
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(wrong.load(), 0u);
    ASSERT_EQ(LentBytes(pool_), 0u);
  }
}

// A table at the address of an old one, with a writer that knew the old one: nothing may be remembered by address.
TEST_F(PinTest, NewTableInTheSameStorageIsANewTable) {
  alignas(AppendOnlyMemtable) std::byte storage[sizeof(AppendOnlyMemtable)];
  auto* table = new (storage) AppendOnlyMemtable({.pool = &pool_});
  std::atomic<int> turn{0};
  std::thread writer([&] {
    Fill(reinterpret_cast<AppendOnlyMemtable*>(storage), 'A');
    turn = 1;
    while (turn.load() != 2) std::this_thread::yield();
    Fill(std::launder(reinterpret_cast<AppendOnlyMemtable*>(storage)), 'B');
  });
  while (turn.load() != 1) std::this_thread::yield();
  table->~AppendOnlyMemtable();
  EXPECT_EQ(LentBytes(pool_), 0u);
  auto* second = new (storage) AppendOnlyMemtable({.pool = &pool_});
  ASSERT_EQ(static_cast<void*>(table), static_cast<void*>(second));
  Fill(second, 'C');
  turn = 2;
  writer.join();
  EXPECT_EQ(second->entry_count(), 100u);
  EXPECT_EQ(second->MemoryUsage(), LentBytes(pool_));
  for (const char letter : {'B', 'C'}) {
    for (uint64_t i = 0; i < 50; ++i) {
      ASSERT_EQ(second->Get(std::string(20, letter) + NumberKey(Scramble(i), 20)).value, std::string(50, letter));
    }
  }
  EXPECT_FALSE(second->Get(std::string(20, 'A') + NumberKey(Scramble(1), 20)).found());
  second->~AppendOnlyMemtable();
}

TEST_F(PinTest, WriterThatParkedOverAResetWritesIntoTheNewGeneration) {
  AppendOnlyMemtable table({.pool = &pool_});
  std::atomic<int> turn{0};
  std::thread writer([&] {
    Fill(&table, 'A');
    turn = 1;
    while (turn.load() != 2) std::this_thread::yield();
    Fill(&table, 'B');
  });
  while (turn.load() != 1) std::this_thread::yield();
  ASSERT_TRUE(table.ResetWarm().ok());
  turn = 2;
  Fill(&table, 'C');
  writer.join();
  EXPECT_EQ(table.entry_count(), 100u);
  EXPECT_EQ(table.MemoryUsage(), LentBytes(pool_));
}

TEST_F(PinTest, ManyPinsOfOneThread) {
  AppendOnlyMemtable table({.pool = &pool_});
  Fill(&table, 'A');
  std::vector<ReadPin> pins;
  for (int i = 0; i < 100; ++i) pins.push_back(table.Pin());  // more than one record of cells holds
  for (const ReadPin& pin : pins) ASSERT_TRUE(pin);
  Random random(1);
  while (!pins.empty()) {
    ASSERT_EQ(table.ResetWarm().code(), Status::Code::kBusy);
    pins.erase(pins.begin() + static_cast<ptrdiff_t>(Below(&random, pins.size())));
  }
  ASSERT_TRUE(table.ResetWarm().ok());
}

TEST_F(PinTest, PinsOfTwoTablesAreToldApart) {
  AppendOnlyMemtable first({.pool = &pool_}), second({.pool = &pool_});
  ReadPin pin = first.Pin();
  EXPECT_TRUE(second.ResetWarm().ok());
  EXPECT_EQ(first.ResetWarm().code(), Status::Code::kBusy);
  pin = second.Pin();
  EXPECT_TRUE(first.ResetWarm().ok());
  EXPECT_EQ(second.ResetWarm().code(), Status::Code::kBusy);
  ReadPin moved = std::move(pin);
  EXPECT_FALSE(pin);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(second.ResetWarm().code(), Status::Code::kBusy);
  moved.Reset();
  moved.Reset();
  EXPECT_TRUE(second.ResetWarm().ok());
}

TEST_F(PinTest, PinsOutliveTheirThreadsAndCellsAreUsedAgain) {
  AppendOnlyMemtable table({.pool = &pool_});
  for (int round = 0; round < 50; ++round) {
    std::vector<ReadPin> kept;
    for (int i = 0; i < 3; ++i) {
      std::thread([&] {
        for (int pins = 0; pins < 20; ++pins) kept.push_back(table.Pin());
      }).join();
    }
    EXPECT_EQ(table.ResetWarm().code(), Status::Code::kBusy);
    kept.erase(kept.begin() + 1, kept.end());
    EXPECT_EQ(table.ResetWarm().code(), Status::Code::kBusy);
    kept.clear();
    ASSERT_TRUE(table.ResetWarm().ok());
  }
}

// Pins that are made and let go in destructors of a thread's own objects, after or before the thread's pin records are
// given back.
TEST_F(PinTest, PinsWhileAThreadEnds) {
  static AppendOnlyMemtable* shared = nullptr;
  AppendOnlyMemtable table({.pool = &pool_});
  shared = &table;
  struct PinsAtTheEnd {
    ReadPin pin;
    std::optional<AppendOnlyMemtable> own;
    ~PinsAtTheEnd() {
      const ReadPin late = shared->Pin();
      MemtableIterator iterator = shared->NewIterator();
      iterator.SeekToFirst();
      if (own) {
        (void)own->Put("at the end", 1, "");
        iterator = own->NewIterator();
        iterator.SeekToFirst();
      }
    }
  };
  for (int round = 0; round < 30; ++round) {
    std::thread([&] {
      thread_local PinsAtTheEnd before;  // made before the thread's first pin, so destroyed after its records
      (void)before;
      before.pin = table.Pin();
      before.own.emplace(MemtableOptions{.pool = &pool_});
      thread_local PinsAtTheEnd after;
      after.pin = table.Pin();
    }).join();
    ASSERT_TRUE(table.ResetWarm().ok()) << "a pin of an ended thread is left";
  }
  EXPECT_EQ(LentBytes(pool_), 0u);
}

// A table that had no memory for its first generation: the registry's empty cells are no pins on "nothing".
TEST_F(PinTest, NothingIsReplacedThoughCellsAreEmpty) {
  struct Counted : Pinnable {
    explicit Counted(int* ends) : ends_(ends) {}
    ~Counted() override { ++*ends_; }
    int* const ends_;
  };
  int ends = 0;
  PinnedPointer first(new Counted(&ends));
  first.Pin().Reset();  // this thread has cells now, all empty
  PinnedPointer second(nullptr);
  Pinnable* const next = new Counted(&ends);
  EXPECT_EQ(second.TryReplace(next), nullptr);
  EXPECT_EQ(second.Load(), next);
  first.Abandon();
  second.Abandon();
  EXPECT_EQ(ends, 2);
}

TEST_F(PinTest, ThreadLocalTables) {
  std::vector<std::thread> threads;
  std::atomic<uint64_t> wrong{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      thread_local AppendOnlyMemtable table({.pool = &pool_});
      Fill(&table, 'A');
      MemtableIterator iterator = table.NewIterator();
      wrong.fetch_add(CountOthers(&iterator, 'A'));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_EQ(LentBytes(pool_), 0u);
}

}  // namespace
}  // namespace strongbin
