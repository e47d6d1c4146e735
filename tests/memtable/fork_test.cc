// Tables in the child after fork().
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/test_keys.h"
#include "strongbin/tests/stats/page_test_util.h"

namespace strongbin {
namespace {

// Makes, fills, reads, empties and ends a table.
void UseATable(ChunkPool* pool) {
  AppendOnlyMemtable table({.pool = pool});
  for (uint64_t i = 0; i < 100; ++i) REQUIRE_IN_CHILD(table.Put(NumberKey(Scramble(i), 20), i, "value").ok());
  {
    MemtableIterator iterator = table.NewIterator();
    iterator.SeekToFirst();
    REQUIRE_IN_CHILD(iterator.Valid());
    REQUIRE_IN_CHILD(table.ResetWarm().code() == Status::Code::kBusy);
  }
  REQUIRE_IN_CHILD(table.ResetCold().ok());
  REQUIRE_IN_CHILD(table.Put("key", 1, "value").ok());
  REQUIRE_IN_CHILD(table.ReleaseWarm().ok());
}

TEST(MemtableForkTest, AChildMakesUsesAndEndsTablesWhateverTheParentWasDoing) {
  if (kSanitized) {
    GTEST_SKIP() << "the sanitizer's own heap may be locked in the child of a process with many threads";
  }
  ChunkPool pool;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint64_t number = 0; number < 3; ++number) {
    threads.emplace_back([&, number] {
      std::vector<MemtableIterator> outliving;
      while (!stop.load()) {
        outliving.clear();
        AppendOnlyMemtable table({.pool = &pool});
        for (uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(table.Put(NumberKey(Scramble(i), 20), i, "value").ok());
        // Pins that are found, pins that outlive their table, and plain ends.
        MemtableIterator iterator = table.NewIterator();
        iterator.SeekToFirst();
        EXPECT_EQ(table.ResetWarm().code(), Status::Code::kBusy);
        if (number == 0) outliving.push_back(table.NewIterator());
      }
    });
  }
  for (uint64_t child = 0; child < TestScale(50, 400) && !HasFailure(); ++child) {
    EXPECT_EQ(InChild([&] {
                UseATable(&pool);
                _exit(0);  // the parent's tables are nobody's business here
              }),
              0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace strongbin
