// Memory numbers, budgets, bad input.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/memtable/table_state.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/test_keys.h"

// The sanitizers' malloc is to answer null to what no system has, as every other malloc does.
extern "C" const char* __asan_default_options();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace strongbin {
namespace {

TEST(MemoryTest, UsageIsWhatThePoolHasLent) {
  for (const bool checksums : {false, true}) {
    ChunkPool pool;
    AppendOnlyMemtable table({.pool = &pool, .checksum_entries = checksums});
    Random random(21);
    MemtableIterator iterator = table.NewIterator();
    for (Sequence i = 1; i < 5000; ++i) {
      ASSERT_TRUE(table.Put(RandomKey(&random, true), i, RandomValue(&random, true)).ok());
      if (i % 50 == 0) iterator.Seek("a");
      ASSERT_EQ(table.MemoryUsage(), LentBytes(pool));
    }
    const TableStats stats = table.Stats();
    uint64_t reserved = 0;
    for (size_t kind = 0; kind < kChunkKindCount; ++kind) {
      EXPECT_LE(stats.used_bytes[kind] + stats.abandoned_bytes[kind], stats.reserved_bytes[kind])
          << kChunkKindLabels[kind];
      EXPECT_LE(stats.reserved_bytes[kind], stats.peak_bytes[kind]);
      reserved += stats.reserved_bytes[kind];
    }
    EXPECT_EQ(reserved, table.MemoryUsage());
  }
}

TEST(MemoryTest, EmptyTablesHoldNoChunk) {
  ChunkPool pool;
  std::vector<std::unique_ptr<AppendOnlyMemtable>> tables;
  for (int i = 0; i < 10'000; ++i) {
    tables.push_back(std::make_unique<AppendOnlyMemtable>(MemtableOptions{.pool = &pool}));
    ASSERT_EQ(tables.back()->MemoryUsage(), 0u);
    ASSERT_FALSE(tables.back()->ShouldFreeze());
  }
  for (const auto& table : tables) ASSERT_EQ(table->Get("k").status.code(), Status::Code::kNotFound);
  EXPECT_EQ(LentBytes(pool), 0u);
  EXPECT_EQ(FreshChunks(pool), 0u);
  // What an empty table costs outside the pool is nearly all its first generation.
  RecordProperty("table_state_bytes", static_cast<int>(sizeof(TableState)));
  std::printf("sizeof(TableState) = %zu\n", sizeof(TableState));
  EXPECT_LE(sizeof(TableState), 4096u);
}

TEST(MemoryTest, OneSmallEntryCostsAFewSmallChunks) {
  ChunkPool pool;
  AppendOnlyMemtable table({.pool = &pool});
  ASSERT_TRUE(table.Put("a sixteen b key!", 1, "value").ok());
  EXPECT_LE(table.MemoryUsage(), 3 * kMinChunkBytes);  // key, value, log
}

TEST(MemoryTest, OverheadOfAFullTableIsBounded) {
  ChunkPool pool;
  for (const bool ascending : {true, false}) {
    AppendOnlyMemtable table({.pool = &pool});
    const uint64_t count = 200'000;
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(table.Put(NumberKey(ascending ? i : Scramble(i), 20), i, std::string(100, 'v')).ok());
    }
    const uint64_t overhead = (table.MemoryUsage() - 120 * count) / count;
    std::printf("%s: %llu bytes an entry beside key and value\n", ascending ? "ascending" : "random",
                static_cast<unsigned long long>(overhead));
    // 32 of the entry, at most an eighth of growth, and the index where there is one.
    EXPECT_LE(overhead, ascending ? 60u : 90u);
    EXPECT_EQ(table.Stats().reserved_bytes[static_cast<size_t>(ChunkKind::k_index)] == 0, ascending);
  }
}

TEST(MemoryTest, ShouldFreezeIsLateByAtMostOneBatchAndOneChunk) {
  for (const size_t freeze_bytes : {size_t{1}, size_t{100} << 10, size_t{8} << 20}) {
    ChunkPool pool;
    AppendOnlyMemtable table({.pool = &pool, .freeze_bytes = freeze_bytes});
    uint64_t i = 0;
    size_t before = 0;
    uint64_t payload = 0;
    while (!table.ShouldFreeze()) {
      before = table.MemoryUsage();
      ++i;
      ASSERT_TRUE(table.Put(NumberKey(Scramble(i), 20), i, std::string(128, 'v')).ok());
      payload += 148;
    }
    EXPECT_GE(table.MemoryUsage(), freeze_bytes);
    EXPECT_LT(before, freeze_bytes);
    EXPECT_LT(payload, freeze_bytes + kMaxChunkBytes);
  }
}

TEST(MemoryTest, HardBudgetIsNeverPassedByWrites) {
  for (const size_t budget : {size_t{16} << 10, size_t{100} << 10, size_t{1} << 20, size_t{5} << 20}) {
    for (const bool checksums : {false, true}) {
      for (uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE("budget " + std::to_string(budget) + " checksums " + std::to_string(checksums) + " seed " +
                     std::to_string(seed));
        ChunkPool pool;
        AppendOnlyMemtable table({.pool = &pool, .hard_budget_bytes = budget, .checksum_entries = checksums});
        Random random(seed);
        uint64_t refused = 0;
        Sequence accepted = 0;
        for (Sequence i = 1; refused < 50; ++i) {
          const std::string key = OneIn(&random, 2) ? RandomKey(&random, false) : NumberKey(Scramble(i), 24);
          const size_t largest = seed % 3 == 0 ? budget / 4 : 2000;
          const Status status = table.Put(key, i, std::string(Below(&random, largest), 'v'));
          if (status == Status::Code::kOverBudget) {
            ++refused;
          } else {
            ASSERT_TRUE(status.ok());
            ++accepted;
          }
          ASSERT_LE(table.MemoryUsage(), budget);
        }
        EXPECT_EQ(table.entry_count(), accepted);
        // Not refused long before either.
        EXPECT_GE(table.MemoryUsage(), budget < (size_t{100} << 10) ? 1 : budget / 3);
      }
    }
  }
}

TEST(MemoryTest, HardBudgetHoldsForBatchesAndAfterAGenerationThatWasLarger) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const size_t budget = (size_t{1} << 20) << seed % 4;
    ChunkPool pool;
    AppendOnlyMemtable table({.pool = &pool, .hard_budget_bytes = budget, .checksum_entries = seed % 2 == 0});
    Random random(seed);
    Sequence sequence = 0;
    for (int generation = 0; generation < 3; ++generation) {
      const size_t largest_value = size_t{1} << Below(&random, 14);
      Status status;
      while (status.ok()) {
        std::vector<std::string> keys(1 + Below(&random, 1000));
        std::vector<Write> batch;
        const std::string value(1 + Below(&random, largest_value), 'v');
        for (std::string& key : keys) {
          key = OneIn(&random, 3) ? RandomKey(&random, false) : NumberKey(random(), 24);
          batch.push_back({.key = key, .sequence = ++sequence, .value = value});
        }
        status = table.AppendBatch(batch);
        ASSERT_LE(table.MemoryUsage(), budget);
      }
      ASSERT_EQ(status.code(), Status::Code::kOverBudget);
      ASSERT_TRUE(table.ResetWarm().ok());
    }
    // Reservations are held to it as well.
    while (table.Reserve({.entries = 100, .key_bytes = 5000, .value_bytes = 20'000}).ok()) {
      ASSERT_LE(table.MemoryUsage(), budget);
      ASSERT_TRUE(table.Put(NumberKey(random(), 24), ++sequence, std::string(15'000, 'v')).ok() ||
                  table.MemoryUsage() > budget / 2);
      ASSERT_LE(table.MemoryUsage(), budget);
    }
  }
}

TEST(MemoryTest, HardBudgetHoldsForTheBatchThatEndsTheAscendingStretch) {
  const size_t budget = size_t{4} << 20;
  ChunkPool pool;
  AppendOnlyMemtable table({.pool = &pool, .hard_budget_bytes = budget});
  const std::string value(500, 'v');
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < budget / 2 / value.size(); ++i) keys.push_back(NumberKey(i + 1, 24));
  keys.back() = NumberKey(0, 24);
  std::vector<Write> batch;
  for (const std::string& key : keys) {
    batch.push_back({.key = key, .sequence = batch.size() + 1, .value = value});
  }
  ASSERT_TRUE(table.AppendBatch(batch).ok());
  EXPECT_LE(table.MemoryUsage(), budget);
  EXPECT_EQ(table.entry_count(), batch.size());
  for (const std::string& key : keys) ASSERT_EQ(table.Get(key).value, value);
}

TEST(MemoryTest, HardBudgetHoldsForFilledValues) {
  ChunkPool pool;
  AppendOnlyMemtable table({.pool = &pool, .hard_budget_bytes = size_t{64} << 10});
  const auto fill = [](std::span<char> room) { return !room.empty(); };
  ASSERT_TRUE(table.AppendFilled({.key = "k", .sequence = 1}, 100, fill).ok());
  const size_t before = table.MemoryUsage();
  EXPECT_EQ(table.AppendFilled({.key = "k", .sequence = 2}, size_t{1} << 20, fill).code(), Status::Code::kOverBudget);
  EXPECT_EQ(table.MemoryUsage(), before);
  EXPECT_EQ(table.Get("k").sequence, 1u);
}

TEST(MemoryTest, HardBudgetHoldsForEmptyFilledValues) {
  ChunkPool pool;
  const Capacity capacity{.value_bytes = uint64_t{64} << 20};  // the first buffer of values would be a large one
  AppendOnlyMemtable table({.pool = &pool, .hard_budget_bytes = size_t{64} << 10, .base_capacity = capacity});
  const auto fill = [](std::span<char> room) { return room.empty(); };
  ASSERT_TRUE(table.AppendFilled({.key = "k", .sequence = 1}, 0, fill).ok());
  EXPECT_TRUE(table.Get("k").found());
  EXPECT_LE(table.MemoryUsage(), size_t{64} << 10);
}

TEST(MemoryTest, HardBudgetHoldsForAnIndexThatExpectsMuch) {
  for (const uint64_t expected_keys : {uint64_t{82'593}, uint64_t{100'000'000}, UINT64_MAX}) {
    for (size_t budget = size_t{2400} << 10; budget >= size_t{1000} << 10; budget -= size_t{10} << 10) {
      SCOPED_TRACE("expected keys " + std::to_string(expected_keys) + " budget " + std::to_string(budget));
      ChunkPool pool;
      AppendOnlyMemtable table(
          {.pool = &pool, .hard_budget_bytes = budget, .base_capacity = {.entries = expected_keys}});
      std::vector<std::string> keys;
      for (uint64_t i = 0; i < 400; ++i) keys.push_back(NumberKey(Scramble(i), 8));
      std::vector<Write> batch;
      for (const std::string& key : keys) batch.push_back({.key = key, .sequence = batch.size() + 1});
      const Status status = table.AppendBatch(batch);
      ASSERT_TRUE(status.ok() || status == Status::Code::kOverBudget);
      ASSERT_LE(table.MemoryUsage(), budget);
    }
  }
}

TEST(MemoryTest, HugeKeysAndValuesTakeTheOversizePath) {
  ChunkPool pool;
  AppendOnlyMemtable table({.pool = &pool});
  Sequence sequence = 0;
  for (const size_t bytes :
       {size_t{1} << 20, (size_t{1} << 20) + 1, size_t{16} << 20, size_t{64} << 20, (size_t{64} << 20) + 1}) {
    const std::string big(bytes, static_cast<char>('a' + sequence));
    ASSERT_TRUE(table.Put(big, ++sequence, big).ok());
    ASSERT_TRUE(table.Put("sixteen byte key", ++sequence, "v").ok());
    EXPECT_EQ(table.Get(big).value, big);
    EXPECT_EQ(table.Get("sixteen byte key").value, "v");
    EXPECT_EQ(table.MemoryUsage(), LentBytes(pool));
  }
  ASSERT_TRUE(table.ResetWarm().ok());
  EXPECT_EQ(LentBytes(pool), 0u);
  EXPECT_EQ(pool.Stats().idle_bytes[kOversizeSlot], 0u);
}

class BadInputTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(table_.Put("there", 1, "value").ok()); }
  void TearDown() override {
    EXPECT_EQ(table_.entry_count(), 1u);
    EXPECT_EQ(table_.Get("there").value, "value");
  }
  // A view of a length that nobody reads: the checks come first.
  static std::string_view OfLength(uint64_t bytes) { return {"x", bytes}; }

  ChunkPool pool_;
  AppendOnlyMemtable table_{{.pool = &pool_}};
};

TEST_F(BadInputTest, LengthsAtAndAboveTheLimitAreRefusedWithoutWrapping) {
  const Status invalid = Status::Code::kInvalidArgument;
  for (const uint64_t bytes :
       {kMaxBlobBytes, uint64_t{1} << 32, (uint64_t{1} << 32) + 1, uint64_t{SIZE_MAX} - 7, uint64_t{SIZE_MAX}}) {
    EXPECT_EQ(table_.Put(OfLength(bytes), 2, "v"), invalid);
    EXPECT_EQ(table_.Put("k", 2, OfLength(bytes)), invalid);
    EXPECT_EQ(table_.Append({.key = "k", .key_suffix = OfLength(bytes), .sequence = 2}), invalid);
    EXPECT_EQ(table_.AppendFilled({.key = "k", .sequence = 2}, bytes, [](std::span<char>) { return true; }), invalid);
    EXPECT_EQ(table_.Get(OfLength(bytes)).status, invalid);
    const std::vector<Write> batch = {{.key = "k", .sequence = 2},
                                      {.key = "l", .sequence = 2, .value = OfLength(bytes)}};
    EXPECT_EQ(table_.AppendBatch(batch), invalid);
  }
  // Each part alone would do.
  EXPECT_EQ(table_.Append({.key = OfLength(kMaxBlobBytes - 1), .key_suffix = OfLength(1), .sequence = 2}), invalid);
  EXPECT_EQ(
      table_.Append({.key = OfLength(kMaxBlobBytes - 1), .key_suffix = OfLength(kMaxBlobBytes - 1), .sequence = 2}),
      invalid);
}

TEST_F(BadInputTest, NullWithALengthIsRefusedAndNullWithoutIsEmpty) {
  const Status invalid = Status::Code::kInvalidArgument;
  const std::string_view null_of_three(static_cast<const char*>(nullptr), 3);
  EXPECT_EQ(table_.Put(null_of_three, 2, "v"), invalid);
  EXPECT_EQ(table_.Put("k", 2, null_of_three), invalid);
  EXPECT_EQ(table_.Append({.key = "k", .key_suffix = null_of_three, .sequence = 2}), invalid);
  EXPECT_EQ(table_.Get(null_of_three).status, invalid);
  AppendOnlyMemtable other({.pool = &pool_});
  ASSERT_TRUE(other.Put({}, 1, {}).ok());
  EXPECT_TRUE(other.Get("").found());
}

TEST_F(BadInputTest, SequencesAndKindsOutOfRangeAreRefused) {
  EXPECT_EQ(table_.Put("k", kMaxSequence + 1, "v").code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(table_.Put("k", UINT64_MAX, "v").code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(table_.Append({.key = "k", .sequence = 2, .kind = static_cast<EntryKind>(128)}).code(),
            Status::Code::kInvalidArgument);
}

TEST_F(BadInputTest, ReservationsBeyondAllMeasureAreRefusedAtOnce) {
  for (const uint64_t much : {uint64_t{1} << 40, uint64_t{1} << 60, uint64_t{UINT64_MAX} - 7, uint64_t{UINT64_MAX}}) {
    EXPECT_FALSE(table_.Reserve({.entries = much}).ok());
    EXPECT_LE(table_.MemoryUsage(), size_t{1} << 20);
  }
  for (const uint64_t much : {uint64_t{1} << 60, uint64_t{UINT64_MAX} - 7, uint64_t{UINT64_MAX}}) {
    EXPECT_FALSE(table_.Reserve({.key_bytes = much}).ok());
    EXPECT_FALSE(table_.Reserve({.value_bytes = much}).ok());
    EXPECT_LE(table_.MemoryUsage(), size_t{1} << 20);
  }
  AppendOnlyMemtable bounded({.pool = &pool_, .hard_budget_bytes = size_t{1} << 20});
  for (const uint64_t much : {uint64_t{1} << 40, uint64_t{1} << 59, uint64_t{1} << 60, uint64_t{UINT64_MAX}}) {
    EXPECT_FALSE(bounded.Reserve({.entries = much}).ok());
    EXPECT_FALSE(bounded.Reserve({.key_bytes = much}).ok());
    EXPECT_FALSE(bounded.Reserve({.value_bytes = much}).ok());
  }
  EXPECT_LE(bounded.MemoryUsage(), size_t{1} << 20);
}

TEST_F(BadInputTest, ReservedRoomServesWritesWithoutThePool) {
  AppendOnlyMemtable table({.pool = &pool_});
  // Ascending, so that no index grows.
  ASSERT_TRUE(table.Reserve({.entries = 10'000, .key_bytes = 160'000, .value_bytes = 1'000'000}).ok());
  const size_t usage = table.MemoryUsage();
  for (Sequence i = 0; i < 10'000; ++i) ASSERT_TRUE(table.Put(NumberKey(i), i, std::string(100, 'v')).ok());
  EXPECT_EQ(table.MemoryUsage(), usage);
}

}  // namespace
}  // namespace strongbin
