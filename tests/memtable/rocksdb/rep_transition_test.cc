// Readers beside what happens once in the life of a memtable: the first entry, the end of the ascending stretch, the
// switch to read-only.
#include <atomic>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/on_threads.h"
#include "strongbin/tests/memtable/rocksdb/fake_engine.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

class RepTransitionTest : public testing::Test {
 protected:
  void Expect(bool is_right) {
    if (!is_right) wrong_.fetch_add(1, std::memory_order_relaxed);
  }
  // Walks all entries; they must be at least `known` and ascend.
  void Walk(Rep* rep, uint64_t known) {
    const RepIteratorPtr iterator = OpenIterator(rep);
    uint64_t count = 0;
    std::string last;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++count) {
      const FakeEntry shown = Decode(iterator->key());
      Expect(count == 0 || last < shown.key);
      last = shown.key;
    }
    Expect(count >= known);
  }

  ChunkPool pool_;
  std::atomic<uint64_t> wrong_{0};
};

// What is reported is what is there, not a difference of two numbers of different moments.
TEST_F(RepTransitionTest, UsageOnlyGrowsFromTheFirstEntryOn) {
  const uint64_t rounds = Scaled(300, 200);
  for (uint64_t round = 0; round < rounds; ++round) {
    FakeMemTable table(&pool_);
    std::atomic<bool> done{false};
    OnThreads(2, [&](uint64_t thread) {
      if (thread == 0) {
        for (Sequence sequence = 1; sequence <= 100; ++sequence) {
          Expect(AddEntry(table.rep.get(), {.key = "key", .sequence = sequence, .value = std::string(100, 'v')}));
        }
        done = true;
        return;
      }
      for (size_t last = 0; !done;) {
        const size_t usage = table->ApproximateMemoryUsage();
        Expect(usage >= last && usage <= size_t{64} << 10);
        last = usage;
      }
    });
    ASSERT_EQ(wrong_.load(), 0u) << "round " << round;
  }
}

TEST_F(RepTransitionTest, ReadersAcrossTheEndOfTheAscendingStretch) {
  const uint64_t rounds = Scaled(200, 160);
  for (uint64_t round = 0; round < rounds; ++round) {
    FakeMemTable table(&pool_);
    const uint64_t ascending = 1 + round % 80;  // up to 64 are put into the index when the stretch ends
    const uint64_t count = ascending + 30;
    const auto key_of = [&](uint64_t i) { return i < ascending ? NumberKey(1000 + i, 8) : NumberKey(999 - i, 8); };
    std::atomic<uint64_t> inserted{0};
    OnThreads(3, [&](uint64_t thread) {
      if (thread == 0) {
        for (uint64_t i = 0; i < count; ++i) {
          Expect(AddEntry(table.rep.get(), {.key = key_of(i), .sequence = i + 1}));
          inserted.store(i + 1, std::memory_order_release);
        }
        return;
      }
      for (uint64_t known = 0; known < count;) {
        known = inserted.load(std::memory_order_acquire);
        Walk(table.rep.get(), known);
        for (uint64_t i = 0; i < known; ++i) Expect(FirstVersion(table.rep.get(), key_of(i)) != nullptr);
      }
    });
    ASSERT_EQ(wrong_.load(), 0u) << "round " << round;
  }
}

// Many ordered readers at once of a memtable that has never been sorted, while it is marked read-only, as at a flush
// beside scans; iterators end on threads other than those that opened them.
TEST_F(RepTransitionTest, ReadersOfAllKindsBesideMarkReadOnly) {
  const uint64_t rounds = 20;
  for (uint64_t round = 0; round < rounds; ++round) {
    FakeMemTable table(&pool_);
    constexpr uint64_t kEntries = 2'000;
    for (uint64_t i = 0; i < kEntries; ++i) {
      Expect(AddEntry(table.rep.get(), {.key = NumberKey(Scramble(i), 20), .sequence = i + 1}));
    }
    const size_t usage = table->ApproximateMemoryUsage();
    RepIteratorPtr handed_over[4];
    OnThreads(4, [&](uint64_t thread) {
      if (thread == 0) {
        table->MarkReadOnly();
        table->MarkFlushed();
      }
      for (int i = 0; i < 30; ++i) {
        const RepIteratorPtr first = OpenIterator(table.rep.get()), second = OpenIterator(table.rep.get());
        first->SeekToLast();
        Expect(first->Valid());
      }
      Walk(table.rep.get(), kEntries);
      Expect(table->ApproximateMemoryUsage() == usage);
      handed_over[thread] = OpenIterator(table.rep.get(), IteratorEnd::kDelete);
      handed_over[thread]->SeekToFirst();
    });
    OnThreads(4, [&](uint64_t thread) { handed_over[(thread + 1) % 4].reset(); });
    ASSERT_EQ(wrong_.load(), 0u) << "round " << round;
    table.End();
    const RecordingCharge::Books books = table.charge->Now();
    ASSERT_EQ(books.scheduled, books.reserved);
    ASSERT_EQ(books.freed, books.reserved);
    ASSERT_TRUE(books.in_order);
    ASSERT_EQ(LentBytes(pool_), 0u);
  }
}

// One pool below several memtables that come and go on different threads.
TEST_F(RepTransitionTest, MemtablesOfOnePoolComeAndGo) {
  const uint64_t rounds = 60;
  OnThreads(3, [&](uint64_t thread) {
    for (uint64_t round = 0; round < rounds; ++round) {
      FakeMemTable table(&pool_, round % 5 == 4 ? RepMemory::Home::kEngineArena : RepMemory::Home::kPool);
      const uint64_t entries = round * 20 % 500;
      for (uint64_t i = 0; i < entries; ++i) {
        const std::string key = NumberKey(Scramble(i), 20) + std::to_string(thread);
        Expect(AddEntry(table.rep.get(), {.key = key, .sequence = i + 1, .value = key}));
      }
      if (round % 2 == 0) table->MarkReadOnly();
      Walk(table.rep.get(), entries);
      for (uint64_t i = 0; i < entries; ++i) {
        const std::string key = NumberKey(Scramble(i), 20) + std::to_string(thread);
        const char* entry = FirstVersion(table.rep.get(), key);
        Expect(entry != nullptr && Decode(entry).value == key);
      }
    }
  });
  EXPECT_EQ(wrong_.load(), 0u);
  EXPECT_EQ(LentBytes(pool_), 0u);
}

}  // namespace
}  // namespace strongbin
