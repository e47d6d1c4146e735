// RocksDB memtables in the statistics page, in front of a stand-in for RocksDB.
#include <thread>
#include <vector>

#include "strongbin/memtable/table_report.h"
#include "strongbin/tests/memtable/rocksdb/fake_engine.h"
#include "strongbin/tests/memtable/rocksdb/rep_model.h"
#include "strongbin/tests/memtable/test_keys.h"
#include "strongbin/tests/stats/page_test_util.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

class RepPageTest : public PageTest {
 protected:
  static TableStats InPage() { return ReadOwnPage().tables; }
  static void Fill(Rep* rep, uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; ++i) {
      REQUIRE_IN_CHILD(AddEntry(rep, {.key = NumberKey(Scramble(i), 20), .sequence = i + 1, .value = "value"}));
    }
  }
  static void Sort(Rep* rep) { OpenIterator(rep)->SeekToFirst(); }
};

TEST_F(RepPageTest, EntriesComeToThePageAtMostAStepLateAndExactlyWhenTheMemtableIsAsked) {
  EXPECT_EQ(InChild([this] {
              Open();
              ChunkPool pool;
              FakeMemTable table(&pool);
              for (uint64_t i = 0; i < 5'000; ++i) {
                Fill(table.rep.get(), i, 1);
                const uint64_t seen = InPage().entries;
                REQUIRE_IN_CHILD(seen <= i + 1 && i + 1 - seen <= TableReport::kStep + 64);
              }
              Sort(table.rep.get());
              const TableStats told = table.Stats(), seen = InPage();
              REQUIRE_IN_CHILD(seen.entries == 5'000 && seen.appended_entries == 5'000 && seen.sorts == 1);
              REQUIRE_IN_CHILD(seen.used_bytes == told.used_bytes && seen.reserved_bytes == told.reserved_bytes);
              REQUIRE_IN_CHILD(Sum(seen.reserved_bytes) == Sum(ReadOwnPage().pools.at(0).stats.lent_bytes));
              table.End();
              REQUIRE_IN_CHILD(InPage().entries == 0 && Sum(InPage().reserved_bytes) == 0);
              REQUIRE_IN_CHILD(InPage().appended_entries == 5'000 && InPage().sorts == 1);
            }),
            0);
}

TEST_F(RepPageTest, MemoryFromElsewhereShowsAtOnce) {
  EXPECT_EQ(InChild([this] {
              Open();
              ChunkPool pool;
              FakeMemTable table(&pool, RepMemory::Home::kEngineArena);
              Fill(table.rep.get(), 0, 100);
              REQUIRE_IN_CHILD(table->memory().engine_bytes() > 0);
              REQUIRE_IN_CHILD(ReadOwnPage().rocksdb.engine_bytes == table->memory().engine_bytes());
            }),
            0);
}

TEST_F(RepPageTest, WritersReadersAndAReaderOfThePageGetAlong) {
  EXPECT_EQ(InChild([this] {
              ChunkPool pool;
              FakeMemTable shared(&pool);
              const uint64_t count = TestScale(10'000, 300'000);
              std::vector<std::thread> threads;
              for (uint64_t i = 0; i < 3; ++i) {
                threads.emplace_back([&pool, &shared, count, i] {
                  FakeMemTable own(&pool);
                  Fill(own.rep.get(), 0, count);
                  Fill(shared.rep.get(), i * count, count);
                  Sort(own.rep.get());
                  Sort(shared.rep.get());
                });
              }
              Open();
              for (int i = 0; i < 100; ++i) ReadOwnPage();
              for (std::thread& thread : threads) thread.join();
              REQUIRE_IN_CHILD(shared.Stats().entries == 3 * count && InPage().entries == 3 * count);
              shared.End();
              REQUIRE_IN_CHILD(InPage().entries == 0 && Sum(InPage().reserved_bytes) == 0);
            }),
            0);
}

}  // namespace
}  // namespace strongbin
