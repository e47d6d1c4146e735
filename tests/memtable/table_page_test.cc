// The numbers of tables in the statistics page.
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/memtable/table_report.h"
#include "strongbin/tests/memtable/test_keys.h"
#include "strongbin/tests/stats/page_test_util.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

class TablePageTest : public PageTest {
 protected:
  static TableStats InPage() { return ReadOwnPage().tables; }
  // Keys in no order.
  static void Fill(AppendOnlyMemtable* table, uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; ++i) {
      const std::string key = "some key " + std::to_string(i * 7919 % 1'000'003);
      REQUIRE_IN_CHILD(table->Put(key, i + 1, "value").ok());
    }
  }
  static void ReadInOrder(const AppendOnlyMemtable& table) {
    MemtableIterator it = table.NewIterator();
    it.SeekToFirst();
    REQUIRE_IN_CHILD(it.status().ok());
  }
};

TEST_F(TablePageTest, EntriesComeToThePageAtMostAStepLateAndExactlyWhenFrozen) {
  EXPECT_EQ(InChild([this] {
              Open();
              AppendOnlyMemtable table;
              for (uint64_t i = 0; i < 5'000; ++i) {
                Fill(&table, i, 1);
                const uint64_t seen = InPage().entries;
                REQUIRE_IN_CHILD(seen <= i + 1 && i + 1 - seen <= TableReport::kStep + 64);
              }
              table.Freeze();
              const TableStats seen = InPage(), told = table.Stats();
              REQUIRE_IN_CHILD(seen.entries == 5'000 && seen.appended_entries == 5'000);
              REQUIRE_IN_CHILD(seen.indexed_keys == told.indexed_keys && seen.used_bytes == told.used_bytes);
              REQUIRE_IN_CHILD(seen.reserved_bytes == told.reserved_bytes && seen.longest_chain == told.longest_chain);
            }),
            0);
}

TEST_F(TablePageTest, BatchesComeToThePageToo) {
  EXPECT_EQ(InChild([this] {
              Open();
              AppendOnlyMemtable table;
              for (const uint64_t stride : {uint64_t{1}, uint64_t{7919}}) {
                std::vector<std::string> keys;
                std::vector<Write> batch;
                for (uint64_t i = 0; i < 1'000; ++i) keys.push_back("k" + std::to_string(100'000 + i * stride % 1'009));
                for (uint64_t i = 0; i < 1'000; ++i) batch.push_back({.key = keys[i], .sequence = stride * 1'000 + i});
                REQUIRE_IN_CHILD(table.AppendBatch(batch).ok());
                REQUIRE_IN_CHILD(InPage().entries == table.entry_count());
              }
            }),
            0);
}

TEST_F(TablePageTest, NoByteOfAKeyOrAValueIsInThePage) {
  EXPECT_EQ(InChild([this] {
              Open();
              AppendOnlyMemtable table;
              Fill(&table, 0, 5'000);
              ReadInOrder(table);
              (void)table.Stats();
              std::ifstream file(StatsPagePath(), std::ios::binary);
              const std::string page{std::istreambuf_iterator<char>(file), {}};
              REQUIRE_IN_CHILD(page.size() >= sizeof(stats_internal::PageLayout));
              REQUIRE_IN_CHILD(page.find("some key") == std::string::npos && page.find("value") == std::string::npos);
              // It is the page that is looked at.
              REQUIRE_IN_CHILD(page.find("default") != std::string::npos);
            }),
            0);
}

TEST_F(TablePageTest, StatsBringThePageUpToDate) {
  EXPECT_EQ(InChild([this] {
              AppendOnlyMemtable table;
              Fill(&table, 0, 10);
              Open();
              REQUIRE_IN_CHILD(InPage().entries == 0);
              REQUIRE_IN_CHILD(table.Stats().entries == 10);
              REQUIRE_IN_CHILD(InPage().entries == 10);
            }),
            0);
}

TEST_F(TablePageTest, SortsAndRunsShowWhenTheyAreMade) {
  EXPECT_EQ(
      InChild([this] {
        Open();
        AppendOnlyMemtable table;
        Fill(&table, 0, 2'000);
        REQUIRE_IN_CHILD(InPage().sorts == 0);
        ReadInOrder(table);
        REQUIRE_IN_CHILD(InPage().sorts == 1 && InPage().runs == 1);
        Fill(&table, 2'000, 1'900);
        ReadInOrder(table);
        const TableStats seen = InPage(), told = table.Stats();
        REQUIRE_IN_CHILD(seen.sorts == 2 && seen.merges == 1 && seen.runs == told.runs);
        REQUIRE_IN_CHILD(seen.sorted_entries == told.sorted_entries && seen.merged_entries == told.merged_entries);
        const auto run = static_cast<size_t>(ChunkKind::k_run);
        REQUIRE_IN_CHILD(seen.used_bytes[run] == told.used_bytes[run] && seen.used_bytes[run] > 0);
      }),
      0);
}

TEST_F(TablePageTest, TheDeltaShowsAtMostAStepLateAndExactlyWhenTheTableIsAsked) {
  EXPECT_EQ(InChild([this] {
              Open();
              AppendOnlyMemtable table;
              Fill(&table, 0, 2'000);
              ReadInOrder(table);
              for (uint64_t i = 1; i <= 1'500; ++i) {
                Fill(&table, 2'000 + i, 1);
                ReadInOrder(table);
                REQUIRE_IN_CHILD(InPage().delta_inserts + TableReport::kStep >= i);
              }
              const TableStats told = table.Stats(), seen = InPage();
              REQUIRE_IN_CHILD(told.delta_inserts == 1'500 && seen.delta_inserts == 1'500);
              REQUIRE_IN_CHILD(seen.delta_entries == told.delta_entries && seen.delta_seals == told.delta_seals);
              REQUIRE_IN_CHILD(seen.used_bytes == told.used_bytes);
            }),
            0);
}

TEST_F(TablePageTest, AResetTakesTheGaugesAndLeavesTheCounters) {
  EXPECT_EQ(
      InChild([this] {
        Open();
        AppendOnlyMemtable table;
        Fill(&table, 0, 3'000);
        ReadInOrder(table);
        REQUIRE_IN_CHILD(table.ResetWarm().ok());
        TableStats seen = InPage();
        REQUIRE_IN_CHILD(seen.entries == 0 && seen.runs == 0 && seen.indexed_keys == 0);
        REQUIRE_IN_CHILD(Sum(seen.reserved_bytes) == 0 && Sum(seen.used_bytes) == 0 && Sum(seen.abandoned_bytes) == 0);
        REQUIRE_IN_CHILD(seen.appended_entries == 3'000 && seen.sorts == 1 && Sum(seen.peak_bytes) > 0);
        REQUIRE_IN_CHILD(seen.resets[static_cast<size_t>(ResetKindLabel::k_reset_warm)] == 1);
        Fill(&table, 0, 500);
        const ReadPin pin = table.Pin();
        REQUIRE_IN_CHILD(table.ResetCold() == Status::Code::kBusy);
        REQUIRE_IN_CHILD(InPage().busy_resets == 1);
      }),
      0);
}

TEST_F(TablePageTest, ColdEndsTakeTheGaugesToo) {
  EXPECT_EQ(InChild([this] {
              Open();
              {
                AppendOnlyMemtable table({.checksum_entries = true});
                Fill(&table, 0, 3'000);
                ReadInOrder(table);
                REQUIRE_IN_CHILD(table.ReleaseCold().ok());
              }
              const TableStats seen = InPage();
              REQUIRE_IN_CHILD(seen.entries == 0 && Sum(seen.reserved_bytes) == 0 && Sum(seen.used_bytes) == 0);
              REQUIRE_IN_CHILD(seen.appended_entries == 3'000);
            }),
            0);
}

TEST_F(TablePageTest, WhatAnIteratorKeepsIsInThePageUntilItGoes) {
  EXPECT_EQ(InChild([this] {
              Open();
              auto table = std::make_unique<AppendOnlyMemtable>();
              Fill(table.get(), 0, 1'000);
              {
                MemtableIterator it = table->NewIterator();
                table->Freeze();
                table.reset();
                REQUIRE_IN_CHILD(InPage().entries == 1'000);
                it.SeekToFirst();
                REQUIRE_IN_CHILD(InPage().sorts == 1);
              }
              REQUIRE_IN_CHILD(InPage().entries == 0 && Sum(InPage().reserved_bytes) == 0);
            }),
            0);
}

TEST_F(TablePageTest, AChildOfForkGoesOnInPrivate) {
  EXPECT_EQ(InChild([this] {
              Open();
              AppendOnlyMemtable table;
              Fill(&table, 0, 1'000);
              table.Stats();
              REQUIRE_IN_CHILD(InChild([this, &table] {
                                 Fill(&table, 1'000, 1'000);
                                 ReadInOrder(table);
                                 Open();
                                 REQUIRE_IN_CHILD(InPage().entries == 0);
                                 table.Freeze();
                                 REQUIRE_IN_CHILD(InPage().entries == 2'000);
                                 REQUIRE_IN_CHILD(table.ResetWarm().ok() && InPage().entries == 0);
                               }) == 0);
              REQUIRE_IN_CHILD(InPage().entries == 1'000 && InPage().sorts == 0);
            }),
            0);
}

TEST_F(TablePageTest, ManyTablesWritersAndReadersAddUp) {
  EXPECT_EQ(InChild([this] {
              const uint64_t count = TestScale(5'000, 200'000);
              AppendOnlyMemtable shared;
              const auto work = [&shared, count](uint64_t thread) {
                AppendOnlyMemtable own;
                for (uint64_t round = 0; round < 4; ++round) {
                  Fill(&own, 0, count);
                  Fill(&shared, (thread * 4 + round) * count, count);
                  ReadInOrder(own);
                  ReadInOrder(shared);
                  REQUIRE_IN_CHILD(own.ResetWarm().ok());
                }
              };
              std::vector<std::thread> threads;
              for (uint64_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
              Open();
              for (int i = 0; i < 100; ++i) ReadOwnPage();
              for (std::thread& thread : threads) thread.join();
              shared.Freeze();
              REQUIRE_IN_CHILD(InPage().entries == 16 * count);
              REQUIRE_IN_CHILD(InPage().appended_entries <= 32 * count);
              REQUIRE_IN_CHILD(shared.ResetWarm().ok());
              REQUIRE_IN_CHILD(InPage().entries == 0 && Sum(InPage().reserved_bytes) == 0);
            }),
            0);
}

}  // namespace
}  // namespace strongbin
