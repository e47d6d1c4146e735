// What a memtable holds, what it says of it, and who is charged.
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_set>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/rocksdb/fake_engine.h"
#include "strongbin/tests/memtable/rocksdb/rep_fillings.h"
#include "strongbin/tests/memtable/rocksdb/rep_model.h"

namespace strongbin {
namespace {

uint64_t Of(const TableStats& stats, ChunkKind kind) { return stats.reserved_bytes[static_cast<size_t>(kind)]; }

// RocksDB makes one for each column family, used or not.
TEST(EmptyRepTest, HoldsLittleAndReportsNothing) {
  EXPECT_LE(sizeof(AppendOnlyRep) + sizeof(RepState), 2560u);
  ChunkPool pool;
  FakeMemTable table(&pool);
  const auto expect_empty = [&] {
    EXPECT_EQ(table->ApproximateMemoryUsage(), 0u);
    EXPECT_EQ(LentBytes(pool), 0u);
    EXPECT_EQ(table.charge->Now().reserved, 0u);
    EXPECT_EQ(table.arena.calls(), 0u);
  };
  expect_empty();
  // Not by reading either.
  EXPECT_TRUE(SameContent(table.rep.get(), Model()));
  EXPECT_EQ(FirstVersion(table.rep.get(), "key"), nullptr);
  expect_empty();
  table->MarkReadOnly();
  expect_empty();
  table.End();
  EXPECT_EQ(FreshChunks(pool), 0u);
  EXPECT_EQ(table.listener->read_only_calls, 1u);
  EXPECT_EQ(table.listener->end_calls, 1u);
  EXPECT_EQ(table.listener->gone_calls, 1u);
}

TEST(SmallRepTest, OneEntryIsKilobytesAndNotAMegabyte) {
  ChunkPool pool;
  FakeMemTable table(&pool);
  ASSERT_TRUE(AddEntry(table.rep.get(), {.key = "key", .sequence = 1, .value = "value"}));
  EXPECT_GT(table->ApproximateMemoryUsage(), 0u);
  EXPECT_LE(table->ApproximateMemoryUsage(), 8u << 10);
  EXPECT_LE(LentBytes(pool), 8u << 10);
}

class RepMemoryTest : public testing::TestWithParam<Filling> {
 protected:
  RepMemoryTest() { Fill(rep(), &model_, GetParam()); }
  Rep* rep() { return table_.rep.get(); }
  void Sort() {
    const RepIteratorPtr iterator = OpenIterator(rep());
    iterator->SeekToFirst();
  }

  ChunkPool pool_;
  FakeMemTable table_{&pool_};
  Model model_;
};

TEST_P(RepMemoryTest, UsageIsWhatEntriesLogAndIndexHoldButForTheSpareEnd) {
  size_t last = table_->ApproximateMemoryUsage();
  for (uint64_t i = 0; i < 5'000; ++i) {
    // Small ones, and now and then one that gets a chunk of its own.
    const std::string value(i % 97 == 0 ? 70'000 : i % 300, 'v');
    ASSERT_TRUE(AddEntry(rep(), {.key = NumberKey(Scramble(i), 20), .sequence = 10'000 + i, .value = value}));
    const TableStats stats = table_.Stats();
    const size_t usage = table_->ApproximateMemoryUsage();
    const size_t used = stats.used_bytes[static_cast<size_t>(ChunkKind::k_key)];
    const size_t abandoned = stats.abandoned_bytes[static_cast<size_t>(ChunkKind::k_key)];
    ASSERT_EQ(usage, used + abandoned + Of(stats, ChunkKind::k_log) + Of(stats, ChunkKind::k_index));
    ASSERT_LE(usage, table_->memory().held_bytes());
    ASSERT_GT(usage, last);
    last = usage;
  }
  EXPECT_EQ(table_->memory().held_bytes(), LentBytes(pool_));
}

// RocksDB asserts that an immutable memtable does not grow.
TEST_P(RepMemoryTest, UsageStaysThatOfTheLastInsertWhateverReadersDo) {
  for (const bool read_only : {false, true}) {
    if (read_only) table_->MarkReadOnly();
    const size_t usage = table_->ApproximateMemoryUsage();
    ASSERT_TRUE(SameContent(table_.rep.get(), model_));
    EXPECT_EQ(table_->ApproximateMemoryUsage(), usage);
    std::unordered_set<const char*> sample;
    rep()->UniqueRandomSample(model_.size(), 10, &sample);
    EXPECT_EQ(table_->ApproximateMemoryUsage(), usage);
    // The runs are held and charged all the same.
    EXPECT_EQ(table_.charge->Now().held(), LentBytes(pool_));
  }
}

TEST_P(RepMemoryTest, StatisticsAgreeWithThePool) {
  Sort();
  const TableStats stats = table_.Stats();
  EXPECT_EQ(stats.entries, model_.size());
  EXPECT_EQ(std::accumulate(stats.reserved_bytes.begin(), stats.reserved_bytes.end(), uint64_t{0}), LentBytes(pool_));
  for (size_t kind = 0; kind < stats.reserved_bytes.size(); ++kind) {
    EXPECT_LE(stats.used_bytes[kind] + stats.abandoned_bytes[kind], stats.reserved_bytes[kind]) << kind;
  }
}

INSTANTIATE_TEST_SUITE_P(Fillings, RepMemoryTest, testing::ValuesIn(kFillings), FillingName);

// ---- Charges to a write buffer manager ----

enum class When : uint8_t { kNever, kBefore, kAfter };  // MarkReadOnly

class RepChargeTest : public testing::TestWithParam<std::tuple<Filling, When, bool>> {};

TEST_P(RepChargeTest, WhatIsReservedIsScheduledAndFreedInEveryOrderOfEvents) {
  const auto [filling, sorted, marked] = GetParam();
  ChunkPool pool;
  FakeMemTable table(&pool);
  Model model;
  const auto expect_held = [&](bool active) {
    const RecordingCharge::Books books = table.charge->Now();
    EXPECT_EQ(books.held(), LentBytes(pool));
    EXPECT_EQ(books.held(), table->memory().held_bytes());
    EXPECT_EQ(books.active(), active ? books.held() : 0);
    EXPECT_TRUE(books.in_order);
  };
  const auto sort = [&] {
    const RepIteratorPtr iterator = OpenIterator(table.rep.get());
    iterator->SeekToFirst();
  };
  Fill(table.rep.get(), &model, filling);
  expect_held(true);
  if (sorted == When::kBefore) {
    sort();
    // Unread runs are merged into new ones.
    ASSERT_TRUE(AddToBoth(table.rep.get(), &model, "!!", 10'000));
    sort();
    expect_held(true);
  }
  if (marked) {
    table->MarkReadOnly();
    expect_held(false);
    table->MarkReadOnly();  // once more does nothing
    expect_held(false);
  }
  if (sorted == When::kAfter) {
    sort();
    expect_held(!marked);
  }
  EXPECT_TRUE(SameContent(table.rep.get(), model));
  expect_held(!marked);
  const size_t held = table->memory().held_bytes();
  table.End();
  EXPECT_EQ(table.listener->held_bytes_at_end, held);
  const RecordingCharge::Books books = table.charge->Now();
  EXPECT_EQ(books.scheduled, books.reserved);
  EXPECT_EQ(books.freed, books.reserved);
  EXPECT_TRUE(books.in_order);
  EXPECT_GE(books.most_held, held);
  EXPECT_EQ(LentBytes(pool), 0u);
}

INSTANTIATE_TEST_SUITE_P(Orders, RepChargeTest,
                         testing::Combine(testing::ValuesIn(kFillings),
                                          testing::Values(When::kNever, When::kBefore, When::kAfter), testing::Bool()));

// ---- RocksDB's arena as the home of all chunks ----

class RepEngineHomeTest : public testing::TestWithParam<Filling> {
 protected:
  RepEngineHomeTest() { Fill(rep(), &model_, GetParam()); }
  Rep* rep() { return table_.rep.get(); }

  ChunkPool pool_;
  FakeMemTable table_{&pool_, RepMemory::Home::kEngineArena};
  Model model_;
};

TEST_P(RepEngineHomeTest, EverythingThatIsWrittenLiesInTheArena) {
  for (uint64_t i = 0; i < 3'000; ++i) {
    ASSERT_TRUE(AddToBoth(rep(), &model_, NumberKey(Scramble(i), 20), 10'000 + i, std::string(i % 997 * 3, 'v')));
    ASSERT_EQ(LentBytes(pool_), 0u);
    ASSERT_EQ(table_->ApproximateMemoryUsage(), 0u);  // RocksDB counts its arena itself
    ASSERT_EQ(table_->memory().engine_bytes(), table_.arena.bytes());
  }
  EXPECT_GT(table_.arena.bytes(), 0u);
  EXPECT_EQ(table_->memory().heap_bytes(), 0u);
  ASSERT_TRUE(SameContent(table_.rep.get(), model_));
}

// RocksDB asserts that an immutable memtable does not grow, its arena included; and a manager is told of growth but
// never of its end.
TEST_P(RepEngineHomeTest, ReadersNeverTouchTheArena) {
  for (const bool read_only : {false, true}) {
    if (read_only) table_->MarkReadOnly();
    const uint64_t calls = table_.arena.calls();
    ASSERT_TRUE(SameContent(table_.rep.get(), model_));
    EXPECT_EQ(table_.arena.calls(), calls);
  }
  table_.End();
  EXPECT_EQ(LentBytes(pool_), 0u);
}

INSTANTIATE_TEST_SUITE_P(Fillings, RepEngineHomeTest, testing::ValuesIn(kFillings), FillingName);

}  // namespace
}  // namespace strongbin
