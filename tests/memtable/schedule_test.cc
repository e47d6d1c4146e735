// Writers, readers and resets while threads are made to change at the worst places.
#include <atomic>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/linear_history.h"
#include "strongbin/tests/memtable/perturbed.h"
#include "strongbin/tests/memtable/proved_value.h"

namespace strongbin {
namespace {

struct TableStore {
  bool Put(const std::string& key, Sequence sequence, const std::string& value) {
    return table->Put(key, sequence, value).ok();
  }
  std::optional<ShownEntry> Get(const std::string& key, Sequence snapshot) {
    const LookupResult found = table->Get(key, snapshot);
    if (!found.found()) return std::nullopt;
    return ShownEntry{key, found.sequence, std::string(found.value)};
  }
  std::vector<ShownEntry> Scan(Sequence snapshot) {
    std::vector<ShownEntry> entries;
    MemtableIterator iterator = table->NewIterator({.snapshot = snapshot});
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
      entries.push_back({std::string(iterator.key()), iterator.sequence(), std::string(iterator.value())});
    }
    return entries;
  }

  AppendOnlyMemtable* table;
};

TEST(ScheduleTest, PutsGetsAndScansHaveAnOrderThatExplainsThem) {
  ForSchedules(Scaled(60, 12), [](uint64_t seed) {
    ChunkPool pool;
    AppendOnlyMemtable table({.pool = &pool, .checksum_entries = seed % 2 == 0});
    TableStore store{&table};
    const uint64_t key_count = seed % 3 == 0 ? 4 : 40;
    HistoryRun run(&store, seed, key_count);
    const OperationHistory history = run.Run(4, 300);
    ASSERT_EQ(run.unproved_count(), 0u);
    ASSERT_TRUE(IsLinearisable(history, key_count));
  });
}

// Writers share a gate with the resets, so that each entry is of the generation that its value says; readers have none.
TEST(ScheduleTest, WhatAPinHoldsIsOneGenerationAndProvesItself) {
  ForSchedules(Scaled(40, 10), [](uint64_t seed) {
    constexpr uint64_t kWriters = 2, kReaders = 2, kKeys = 200;
    ChunkPool pool({.cap_bytes = seed % 2 == 0 ? size_t{64} << 10 : size_t{64} << 20});
    AppendOnlyMemtable table({.pool = &pool});
    std::shared_mutex gate;
    std::atomic<bool> reset_waits{false};  // since the gate prefers those who share it
    std::atomic<uint64_t> generation{1};   // changed under the gate
    std::atomic<uint64_t> put_count{0};  // of the generation: walks of a table that only grows leave no reset a moment
    std::atomic<uint64_t> wrong{0};
    std::atomic<Sequence> next{1};
    std::atomic<uint64_t> readers_left{kReaders};
    OnThreads(kWriters + kReaders + 1, [&](uint64_t thread) {
      Random random(seed * 100 + thread);
      if (thread < kWriters) {
        while (readers_left.load() > 0) {
          if (reset_waits.load() || put_count.load() >= 2'000) {
            std::this_thread::yield();
            continue;
          }
          const std::shared_lock lock(gate);
          const std::string key = NumberKey(Below(&random, kKeys), OneIn(&random, 2) ? 8 : 20);
          const Sequence sequence = next.fetch_add(1);
          put_count.fetch_add(1);
          if (!table.Put(key, sequence, ProvedValue(key, sequence, generation.load(), Below(&random, 60))).ok()) {
            wrong.fetch_add(1);
          }
        }
        return;
      }
      if (thread == kWriters) {
        while (readers_left.load() > 0) {
          reset_waits = true;
          const std::unique_lock lock(gate);
          reset_waits = false;
          const Status status = OneIn(&random, 2) ? table.ResetWarm() : table.ResetCold();
          if (status.ok()) {
            generation.fetch_add(1);
            put_count = 0;
          } else if (status != Status::Code::kBusy) {
            wrong.fetch_add(1);
          }
        }
        return;
      }
      // At least until a reset has found a moment without a pin.
      for (uint64_t round = 0; round < 60 || generation.load() < 3; ++round) {
        std::optional<uint64_t> seen;
        std::this_thread::yield();
        const uint64_t before = generation.load();
        const auto prove = [&](std::string_view key, Sequence sequence, std::string_view value) {
          const std::optional<uint64_t> proved = ProvedGeneration(key, sequence, value);
          if (!proved || *proved < before || (seen && *seen != *proved)) wrong.fetch_add(1);
          seen = proved;
        };
        if (OneIn(&random, 2)) {
          MemtableIterator iterator = table.NewIterator({.all_versions = true});
          for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
            prove(iterator.key(), iterator.sequence(), iterator.value());
          }
        } else {
          const ReadPin pin = table.Pin();
          for (int i = 0; i < 20; ++i) {
            const std::string key = NumberKey(Below(&random, kKeys), OneIn(&random, 2) ? 8 : 20);
            const LookupResult found = table.Get(key);
            if (found.found()) prove(key, found.sequence, found.value);
          }
        }
      }
      readers_left.fetch_sub(1);
    });
    ASSERT_EQ(wrong.load(), 0u);
    ASSERT_TRUE(table.ReleaseWarm().ok());
    ASSERT_EQ(LentBytes(pool), 0u);
  });
}

#ifdef STRONGBIN_TEST_POINTS
TEST(ScheduleTest, ThreadsMayChangeAtEveryPlace) {
  const Perturbed perturbed(1);
  ChunkPool pool({.cap_bytes = 0});
  AppendOnlyMemtable small({.pool = &pool});
  AppendOnlyMemtable large({.pool = &pool});
  OnThreads(2, [&](uint64_t thread) {
    for (uint64_t i = 0; i < 4'000; ++i) {
      const Sequence sequence = 1 + 2 * i + thread;
      EXPECT_TRUE(large.Put(i % 8 == 0 ? "hot" : NumberKey(Scramble(sequence), 20), sequence, "value").ok());
      if (i % 50 != 0) continue;
      MemtableIterator(large.NewIterator()).SeekToFirst();
      EXPECT_TRUE(small.Put("key", sequence, "value").ok());
      (void)small.ResetWarm();
    }
  });
  for (uint8_t place = 0; place < static_cast<uint8_t>(YieldAt::k_count); ++place) {
    EXPECT_GT(PassesAt(static_cast<YieldAt>(place)), 0u) << "place " << int{place};
  }
}
#endif

// The judge itself.
class LinearisableTest : public testing::Test {
 protected:
  using Kind = HistoryOperation::Kind;
  static HistoryOperation Put(uint64_t began, uint64_t ended, uint64_t key, Sequence sequence) {
    return {Kind::kPut, began, ended, key, sequence, {}};
  }
  static HistoryOperation Get(uint64_t began, uint64_t ended, uint64_t key, Sequence shown, Sequence snapshot = 100) {
    return {Kind::kGet, began, ended, key, snapshot, {{key, shown}}};
  }
  static HistoryOperation Scan(uint64_t began, uint64_t ended, ShownVersions shown) {
    return {Kind::kScan, began, ended, 0, 100, std::move(shown)};
  }
};

TEST_F(LinearisableTest, OperationsThatOverlapMayComeInAnyOrder) {
  EXPECT_TRUE(IsLinearisable({Put(1, 10, 0, 5), Get(2, 3, 0, 0), Get(4, 6, 0, 5)}, 2));
  EXPECT_TRUE(IsLinearisable({Put(1, 10, 0, 5), Put(2, 9, 1, 6), Scan(3, 4, {{0, 0}, {1, 6}})}, 2));
  EXPECT_TRUE(IsLinearisable({Put(1, 2, 0, 5), Put(3, 4, 0, 7), Get(5, 6, 0, 5, 6)}, 2));
}

TEST_F(LinearisableTest, WhatNoOrderExplainsIsFound) {
  EXPECT_FALSE(IsLinearisable({Put(1, 2, 0, 5), Get(3, 4, 0, 0)}, 2)) << "a lost put";
  EXPECT_FALSE(IsLinearisable({Put(5, 6, 0, 5), Get(3, 4, 0, 5)}, 2)) << "a put seen before it began";
  EXPECT_FALSE(IsLinearisable({Put(1, 10, 0, 5), Get(2, 3, 0, 5), Get(4, 5, 0, 0)}, 2)) << "seen and seen no more";
  EXPECT_FALSE(IsLinearisable({Put(1, 2, 0, 5), Put(3, 4, 0, 4), Get(5, 6, 0, 4)}, 2))
      << "the last to come, not the newest";
  EXPECT_FALSE(IsLinearisable({Put(1, 2, 0, 5), Get(3, 4, 0, 5, 4)}, 2)) << "newer than the snapshot";
  EXPECT_FALSE(IsLinearisable({Put(2, 3, 0, 5), Put(4, 5, 1, 6), Scan(1, 9, {{0, 0}, {1, 6}})}, 2)) << "two moments";
}

}  // namespace
}  // namespace strongbin
