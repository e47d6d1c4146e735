// Mixed load for as long as one likes: two tables that share a pool are filled, read, drained, reset and replaced,
// memory is called back, and the process forks in the middle of it. At the end of each cycle the books agree; in the
// end nothing is left that was not there after the first cycles.
//
// STRONGBIN_LONG_RUN_CYCLES=N makes it longer; tools/long-run knows how many are an hour.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/stats/identities.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/on_threads.h"
#include "strongbin/tests/memtable/perturbed.h"
#include "strongbin/tests/memtable/proved_value.h"
#include "strongbin/tests/process_numbers.h"
#include "strongbin/tests/stats/page_test_util.h"

namespace strongbin {
namespace {

uint64_t CycleCount() {
  if (const char* wanted = std::getenv("STRONGBIN_LONG_RUN_CYCLES")) return std::strtoull(wanted, nullptr, 10);
  return TestScale(kSanitized ? 12 : 40, kSanitized ? 2'000 : 7'000);
}

class LongRun {
 public:
  // One generation of both tables by four threads, and what may come beside it.
  void Cycle(uint64_t number) {
    const Perturbed perturbed(number % 4 == 3 ? number : 0);
    const uint64_t entries = Scaled(8'000, 1'500) + 997 * (number % 5);
    Random dice(number);
    if (OneIn(&dice, 8)) Renew(&tables_[number % 2]);
    std::atomic<Sequence> published{0};
    OnThreads(4, [&](uint64_t thread) {
      Random random(number * 10 + thread);
      for (uint64_t i = 0; i < entries; ++i) {
        AppendOnlyMemtable& table = *tables_[thread % 2];
        const std::string key = NumberKey(Below(&random, 4'000), OneIn(&random, 2) ? 8 : 24) + (thread < 2 ? "a" : "b");
        const Sequence sequence = 1 + i;
        if (thread < 2 || OneIn(&random, 2)) {
          Require(table.Put(key, sequence, ProvedValue(key, sequence, number, Below(&random, 200))).ok());
        } else if (const LookupResult found = table.Get(key, sequence); found.found()) {
          Require(ProvedGeneration(key, found.sequence, found.value) == number);
        }
        if (i % 2'000 == 1'000 + thread) Scan(table, number);
        if (i % 3'000 == 100 + thread) pool_.OnMemoryPressure();
        if (i == entries / 2 && thread == number % 4 && number % 7 == 0) UseInChild(number);
      }
    });
    for (auto& table : tables_) {
      table->Freeze();
      Require(Scan(*table, number) == table->entry_count());
      Require(table->Put("late", 1, "").code() == Status::Code::kFrozen);
      const std::string broken = BrokenIdentities(table->Stats());
      EXPECT_EQ(broken, "");
    }
    const std::string broken = BrokenIdentities(pool_.Stats());
    EXPECT_EQ(broken, "");
    EXPECT_EQ(LentBytes(pool_), tables_[0]->MemoryUsage() + tables_[1]->MemoryUsage());
    for (auto& table : tables_) Require((number % 3 == 0 ? table->ResetCold() : table->ResetWarm()).ok());
    EXPECT_EQ(LentBytes(pool_), 0u);
    EXPECT_LE(IdleBytes(pool_), pool_.cap_bytes());
    EXPECT_EQ(wrong_.load(), 0u);
  }

  // With nothing idle: what remains is what the run has left behind.
  ProcessNumbers AtRest() {
    pool_.OnMemoryPressure();
    EXPECT_EQ(IdleBytes(pool_), 0u);
    return ProcessNumbers::Now();
  }

 private:
  void Require(bool is_right) {
    if (!is_right) wrong_.fetch_add(1);
  }
  // All versions in order, each of which proves itself; how many.
  uint64_t Scan(const AppendOnlyMemtable& table, uint64_t number) {
    uint64_t count = 0;
    MemtableIterator iterator = table.NewIterator({.all_versions = true});
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next(), ++count) {
      Require(ProvedGeneration(iterator.key(), iterator.sequence(), iterator.value()) == number);
    }
    Require(iterator.status().ok());
    return count;
  }
  void Renew(std::unique_ptr<AppendOnlyMemtable>* table) {
    *table =
        std::make_unique<AppendOnlyMemtable>(MemtableOptions{.pool = &pool_, .pool_at_end = PoolAtEnd::kDropWhenLast});
  }
  // Other threads are anywhere at this moment: the child uses the pool and a table of its own, and leaves.
  void UseInChild(uint64_t number) {
    const pid_t child = StartChild([&] {
      AppendOnlyMemtable table({.pool = &pool_});
      for (Sequence i = 1; i <= 500; ++i) {
        const std::string key = NumberKey(Scramble(i), 20);
        REQUIRE_IN_CHILD(table.Put(key, i, ProvedValue(key, i, number, 20)).ok());
      }
      REQUIRE_IN_CHILD(Scan(table, number) == 500 && wrong_.load() == 0);
      pool_.OnMemoryPressure();
      REQUIRE_IN_CHILD(table.ResetWarm().ok());
      _exit(0);  // its copies of the parent's tables are nobody's business
    });
    Require(WaitFor(child) == 0);
  }

  ChunkPool pool_{{.cap_bytes = size_t{8} << 20, .decay_ms = 50}};
  std::vector<std::unique_ptr<AppendOnlyMemtable>> tables_ = MakeTables();
  std::atomic<uint64_t> wrong_{0};

  std::vector<std::unique_ptr<AppendOnlyMemtable>> MakeTables() {
    std::vector<std::unique_ptr<AppendOnlyMemtable>> made(2);
    for (auto& table : made) Renew(&table);
    return made;
  }
};

TEST(LongRunTest, BooksAgreeAndNothingIsLeftBehind) {
  LongRun run;
  const uint64_t cycles = CycleCount();
  const uint64_t warm_up = std::max<uint64_t>(cycles / 8, 8);
  ProcessNumbers before;
  for (uint64_t number = 1; number <= cycles + warm_up && !testing::Test::HasFailure(); ++number) {
    SCOPED_TRACE("cycle " + std::to_string(number));
    run.Cycle(number);
    if (number == warm_up) before = run.AtRest();
  }
  const ProcessNumbers after = run.AtRest();
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.threads, before.threads);
  // A sanitizer keeps what was freed.
  if (!kSanitized) {
    EXPECT_LE(after.resident_bytes, before.resident_bytes + (size_t{2} << 20));
  }
  RecordProperty("resident_kib_before", static_cast<int>(before.resident_bytes >> 10));
  RecordProperty("resident_kib_after", static_cast<int>(after.resident_bytes >> 10));
}

}  // namespace
}  // namespace strongbin
