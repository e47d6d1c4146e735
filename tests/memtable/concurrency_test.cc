// Writers, readers and iterators at once.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/on_threads.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

class ConcurrencyTest : public testing::Test {
 protected:
  ChunkPool pool_;
  AppendOnlyMemtable table_{{.pool = &pool_}};
  std::atomic<uint64_t> wrong_{0};
};

TEST_F(ConcurrencyTest, WritersWithDisjointKeysLoseNothing) {
  constexpr uint64_t kWriters = 4;
  const uint64_t each = Scaled(20'000, 4'000);
  OnThreads(kWriters, [&](uint64_t writer) {
    for (uint64_t i = 0; i < each; ++i) {
      const std::string key = NumberKey(Scramble(i * kWriters + writer), 20);
      if (!table_.Put(key, i, key).ok()) wrong_.fetch_add(1);
      if (i % 8 == 0 && table_.Get(key, i).value != key) wrong_.fetch_add(1);
    }
  });
  EXPECT_EQ(wrong_.load(), 0u);
  EXPECT_EQ(table_.entry_count(), kWriters * each);
  for (uint64_t i = 0; i < kWriters * each; ++i) ASSERT_TRUE(table_.Get(NumberKey(Scramble(i), 20)).found());
  EXPECT_EQ(table_.MemoryUsage(), LentBytes(pool_));
}

TEST_F(ConcurrencyTest, OfEqualKeysAndSequencesExactlyOneWins) {
  constexpr uint64_t kWriters = 4;
  const uint64_t count = Scaled(10'000, 2'000);
  std::atomic<uint64_t> won{0};
  OnThreads(kWriters, [&](uint64_t writer) {
    for (uint64_t i = 0; i < count; ++i) {
      // Half of the keys are new, half are versions of ten hot keys.
      const std::string key = i % 2 == 0 ? NumberKey(Scramble(i), 20) : "hot " + std::to_string(i % 20);
      const Status status = table_.Put(key, i, std::to_string(writer));
      if (status.ok()) {
        won.fetch_add(1);
      } else if (status != Status::Code::kDuplicate) {
        wrong_.fetch_add(1);
      }
    }
  });
  EXPECT_EQ(wrong_.load(), 0u);
  EXPECT_EQ(won.load(), count);
  EXPECT_EQ(table_.entry_count(), count);
}

// One writer publishes a snapshot after each batch; at it a reader must see all of the batches before and nothing of
// later ones.
TEST_F(ConcurrencyTest, BatchesAreSeenWholeOrNotAtAll) {
  constexpr uint64_t kKeys = 40;
  const uint64_t rounds = Scaled(3'000, 500);
  std::atomic<Sequence> published{0};
  const auto key_of = [](uint64_t i) { return NumberKey(Scramble(i), i % 2 == 0 ? 20 : 8); };
  OnThreads(4, [&](uint64_t thread) {
    if (thread == 0) {
      std::vector<std::string> keys;
      for (uint64_t i = 0; i < kKeys; ++i) keys.push_back(key_of(i));
      for (Sequence round = 1; round <= rounds; ++round) {
        const std::string value = std::to_string(round);
        std::vector<Write> batch;
        for (const std::string& key : keys) batch.push_back({.key = key, .sequence = round, .value = value});
        if (!table_.AppendBatch(batch).ok()) wrong_.fetch_add(1);
        published.store(round, std::memory_order_release);
      }
      return;
    }
    Random random(thread);
    for (;;) {
      const Sequence snapshot = published.load(std::memory_order_acquire);
      const std::string expected = std::to_string(snapshot);
      if (thread == 1) {
        for (uint64_t i = 0; i < kKeys; ++i) {
          const LookupResult found = table_.Get(key_of(i), snapshot);
          if (snapshot == 0 ? found.found() : found.value != expected) wrong_.fetch_add(1);
        }
      } else {
        MemtableIterator iterator = table_.NewIterator({.snapshot = snapshot});
        uint64_t seen = 0;
        const bool forward = thread == 2;
        for (forward ? iterator.SeekToFirst() : iterator.SeekToLast(); iterator.Valid();
             forward ? iterator.Next() : iterator.Prev()) {
          if (iterator.value() != expected) wrong_.fetch_add(1);
          ++seen;
        }
        if (seen != (snapshot == 0 ? 0 : kKeys)) wrong_.fetch_add(1);
      }
      if (snapshot == rounds) return;
    }
  });
  EXPECT_EQ(wrong_.load(), 0u);
}

// From the first ascending entries over the end of the ascending stretch: no iterator may miss or repeat what was
// published.
TEST_F(ConcurrencyTest, IteratorsAcrossTheEndOfTheAscendingStretch) {
  const uint64_t rounds = Scaled(400, 100);
  for (uint64_t round = 0; round < rounds && wrong_.load() == 0; ++round) {
    AppendOnlyMemtable table({.pool = &pool_});
    const uint64_t ascending = 1 + round % 80;  // up to 64 are put into the index when the stretch ends
    std::atomic<uint64_t> published{0};
    OnThreads(3, [&](uint64_t thread) {
      if (thread == 0) {
        for (uint64_t i = 0; i < ascending + 30; ++i) {
          const std::string key = i < ascending ? NumberKey(1000 + i, 8) : NumberKey(999 - i, 8);
          if (!table.Put(key, i + 1, "v").ok()) wrong_.fetch_add(1);
          published.store(i + 1, std::memory_order_release);
        }
        return;
      }
      uint64_t known = 0;
      do {
        known = published.load(std::memory_order_acquire);
        MemtableIterator iterator = table.NewIterator({.all_versions = true});
        uint64_t seen = 0;
        std::string last;
        for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next(), ++seen) {
          if (seen > 0 && iterator.key() <= last) wrong_.fetch_add(1);
          last = iterator.key();
        }
        if (seen < known) wrong_.fetch_add(1);
        for (uint64_t i = 0; i < known; ++i) {
          if (!table.Get(i < ascending ? NumberKey(1000 + i, 8) : NumberKey(999 - i, 8)).found()) wrong_.fetch_add(1);
        }
      } while (known < ascending + 30);
    });
  }
  EXPECT_EQ(wrong_.load(), 0u);
}

TEST_F(ConcurrencyTest, IteratorsBesideWritersStayInOrderAndSeeWhatWasPublished) {
  constexpr uint64_t kWriters = 2;
  const uint64_t each = Scaled(30'000, 5'000);
  std::atomic<uint64_t> done{0};
  std::atomic<uint64_t> writers_left{kWriters};
  OnThreads(kWriters + 2, [&](uint64_t thread) {
    if (thread < kWriters) {
      for (uint64_t i = 0; i < each; ++i) {
        if (!table_.Put(NumberKey(Scramble(i * kWriters + thread), 20), i, "").ok()) wrong_.fetch_add(1);
        done.fetch_add(1);
      }
      writers_left.fetch_sub(1);
      return;
    }
    Random random(thread);
    for (bool last = false; !last;) {
      last = writers_left.load() == 0;
      const uint64_t before = done.load();
      MemtableIterator iterator = table_.NewIterator();
      uint64_t seen = 0;
      std::string previous;
      const bool forward = OneIn(&random, 2);
      for (forward ? iterator.SeekToFirst() : iterator.SeekToLast(); iterator.Valid();
           forward ? iterator.Next() : iterator.Prev(), ++seen) {
        if (seen > 0 && (forward ? iterator.key() <= previous : iterator.key() >= previous)) wrong_.fetch_add(1);
        previous = iterator.key();
      }
      if (seen < before) wrong_.fetch_add(1);
    }
  });
  EXPECT_EQ(wrong_.load(), 0u);
}

TEST_F(ConcurrencyTest, HotKeyReadersBesideItsWriter) {
  const uint64_t versions = Scaled(50'000, 10'000);
  std::atomic<Sequence> published{0};
  ASSERT_TRUE(table_.Put("z", 1, "").ok());
  OnThreads(3, [&](uint64_t thread) {
    if (thread == 0) {
      // Pairs in the wrong order: 2, 1, 4, 3, ...
      for (Sequence pair = 2; pair <= versions; pair += 2) {
        if (!table_.Put("hot", pair, std::to_string(pair)).ok()) wrong_.fetch_add(1);
        if (!table_.Put("hot", pair - 1, std::to_string(pair - 1)).ok()) wrong_.fetch_add(1);
        published.store(pair, std::memory_order_release);
      }
      return;
    }
    Random random(thread);
    for (Sequence known = 0; known < versions;) {
      known = published.load(std::memory_order_acquire);
      if (known == 0) continue;
      const Sequence snapshot = OneIn(&random, 2) ? known : 1 + Below(&random, known);
      if (table_.Get("hot", snapshot).value != std::to_string(snapshot)) wrong_.fetch_add(1);
    }
  });
  EXPECT_EQ(wrong_.load(), 0u);
}

TEST_F(ConcurrencyTest, StatisticsAndFreezeDuringTraffic) {
  std::atomic<uint64_t> accepted{0};
  OnThreads(4, [&](uint64_t thread) {
    if (thread == 3) {
      for (int i = 0; i < 40; ++i) {
        const TableStats stats = table_.Stats();
        if (stats.entries > table_.entry_count()) wrong_.fetch_add(1);
        (void)table_.MemoryUsage();
        (void)table_.ShouldFreeze();
        (void)table_.ProbingIsCheaperThanScanning(10);
        (void)table_.expected_capacity();
        (void)pool_.Stats();
        std::this_thread::yield();
      }
      table_.Freeze();
      return;
    }
    for (uint64_t i = 0;; ++i) {
      if (thread == 2) {
        MemtableIterator iterator = table_.NewIterator();
        iterator.Seek("05");
        if (table_.frozen()) return;
        continue;
      }
      const Status status = table_.Put(NumberKey(Scramble(2 * i + thread), 20), i, "v");
      if (status == Status::Code::kFrozen) return;
      if (!status.ok()) wrong_.fetch_add(1);
      accepted.fetch_add(1);
    }
  });
  EXPECT_EQ(wrong_.load(), 0u);
  EXPECT_EQ(table_.entry_count(), accepted.load());
}

TEST_F(ConcurrencyTest, SlowFillsHoldUpNobody) {
  std::atomic<bool> filling{false};
  std::atomic<bool> may_end{false};
  std::thread filler([&] {
    const Status status = table_.AppendFilled({.key = "slow", .sequence = 1}, 3, [&](std::span<char> room) {
      filling = true;
      while (!may_end) std::this_thread::yield();
      std::fill(room.begin(), room.end(), 's');
      return true;
    });
    if (!status.ok()) wrong_.fetch_add(1);
  });
  while (!filling) std::this_thread::yield();
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(table_.Put(NumberKey(Scramble(i), 20), i, "v").ok());
  EXPECT_FALSE(table_.Get("slow").found());
  may_end = true;
  filler.join();
  EXPECT_EQ(table_.Get("slow").value, "sss");
  EXPECT_EQ(wrong_.load(), 0u);
}

}  // namespace
}  // namespace strongbin
