// Bounds on many writers of one table, and on the longest put of a long run.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/stats/watched_locks.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/latency_histogram.h"
#include "strongbin/tools/dbbench/measure.h"
#include "strongbin/tools/dbbench/monitor.h"
#include "strongbin/tools/dbbench/selfcheck.h"
#include "strongbin/tools/dbbench/selfcheck_tools.h"

namespace strongbin::dbbench {
namespace {

// The puts of all writers in a second. Each has its own part of the entries, and takes sequence numbers from a counter
// of all of them, as the writers of an engine do.
double PutsPerSecond(AppendOnlyMemtable* table, const Entries& entries, size_t writers, size_t batch_entries,
                     bool* done) {
  std::atomic<size_t> ready{0};
  std::atomic<bool> all_done{true};
  std::atomic<Sequence> sequences{1};
  std::vector<std::thread> threads;
  const size_t share = entries.count() / writers;
  std::atomic<uint64_t> first_ns{UINT64_MAX}, last_ns{0};
  for (size_t writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      ready.fetch_add(1);
      while (ready.load() < writers) std::this_thread::yield();
      uint64_t now_ns = NowNs();
      for (uint64_t seen = first_ns.load(); now_ns < seen && !first_ns.compare_exchange_weak(seen, now_ns);) {
      }
      const bool good = PutRange(table, entries, writer * share, (writer + 1) * share, batch_entries, &sequences);
      now_ns = NowNs();
      for (uint64_t seen = last_ns.load(); now_ns > seen && !last_ns.compare_exchange_weak(seen, now_ns);) {
      }
      if (!good) all_done = false;
    });
  }
  for (std::thread& thread : threads) thread.join();
  *done &= all_done;
  return static_cast<double>(share * writers) / (static_cast<double>(last_ns - first_ns) / 1e9);
}

// 1, 2, 4, 8 and 16 writers of one table, in turns.
std::vector<CheckRow> ManyWriters(const CheckContext& context) {
  constexpr std::array<size_t, 5> kWriters = {1, 2, 4, 8, 16};
  constexpr size_t kEntries = 800'000;
  constexpr int kRounds = 5;
  constexpr double kBound = 0.9;
  const Entries entries(kEntries, /*sorted=*/false, context.config.seed);
  std::vector<CheckRow> rows;
  for (const size_t batch_entries : {size_t{1}, kSelfcheckBatch}) {
    const std::unique_ptr<ChunkPool> pool = NewSelfcheckPool(/*huge_pages=*/true);
    AppendOnlyMemtable table({.pool = pool.get(), .freeze_bytes = size_t{1} << 30});
    std::array<std::vector<double>, kWriters.size()> rates;
    bool done = true;
    for (int round = 0; round <= kRounds; ++round) {
      for (size_t i = 0; i < kWriters.size(); ++i) {
        const double rate = PutsPerSecond(&table, entries, kWriters[i], batch_entries, &done);
        done &= table.ResetWarm().ok();
        if (round > 0) rates[i].push_back(rate / 1e6);
      }
    }
    std::string all;
    for (size_t i = 0; i < kWriters.size(); ++i) all += (i == 0 ? "" : ", ") + Significant(Median(rates[i]));
    std::vector<double> ratios;
    for (int round = 0; round < kRounds; ++round) {
      ratios.push_back(rates.back()[static_cast<size_t>(round)] / rates[1][static_cast<size_t>(round)]);
    }
    rows.push_back({std::string("16 writers of one table, ") +
                        (batch_entries == 1 ? "single puts" : "batches of " + Grouped(kSelfcheckBatch)),
                    ">= 0.9 x the rate of 2", Spread(ratios, " x") + "; 1, 2, 4, 8, 16 writers: " + all + " M/s",
                    done && Median(ratios) >= kBound});
  }
  return rows;
}

// The longest holds while they were watched; builds without STRONGBIN_TEST_POINTS watch none.
void AddLockHolds([[maybe_unused]] std::vector<CheckRow>* rows) {
#ifdef STRONGBIN_TEST_POINTS
  StopWatchingLocks();
#define STRONGBIN_WATCHED_LOCK(name)                                                                   \
  rows->push_back({"longest hold of the lock \"" #name "\" by thread CPU time, meanwhile", "reported", \
                   Duration(LongestHoldNs(WatchedLock::k_##name)), true});
  STRONGBIN_WATCHED_LOCKS(STRONGBIN_WATCHED_LOCK)
#undef STRONGBIN_WATCHED_LOCK
#endif
}

// Random puts over tables of 64 MiB that take turns, --keys of them, while another thread scans. Whole tables come and
// go through the pool, whose cold start is that of RocksDB's memtables.
std::vector<CheckRow> LongestPut(const CheckContext& context) {
  constexpr size_t kTables = 3;
  constexpr size_t kTableBytes = size_t{64} << 20;
  constexpr size_t kKeys = 1'000'000;
  constexpr double kBoundNs = 2e6;
  const Entries entries(kKeys, /*sorted=*/false, context.config.seed);
  ChunkPoolOptions options;
  options.cap_bytes = kTables * kTableBytes * 5 / 4;
  options.cold_start = kRocksDBColdStart;
  ChunkPool pool(options);
  std::array<std::unique_ptr<AppendOnlyMemtable>, kTables> tables;
  for (auto& table : tables) {
    table = std::make_unique<AppendOnlyMemtable>(MemtableOptions{.pool = &pool, .freeze_bytes = kTableBytes});
  }
  std::atomic<size_t> active{0};
  std::atomic<bool> stop{false};
  uint64_t scans = 0;
  std::thread reader([&] {
    std::mt19937_64 random(context.config.seed);
    while (!stop.load(std::memory_order_relaxed)) {
      MemtableIterator it = tables[active.load()]->NewIterator();
      it.Seek(entries.key(random() % kKeys));
      for (int step = 0; step < 100 && it.Valid(); ++step) it.Next();
      ++scans;
    }
  });
#ifdef STRONGBIN_TEST_POINTS
  StartWatchingLocks();
#endif
  bool done = true;
  auto puts = std::make_unique<LatencyHistogram>();
  AppendOnlyMemtable* table = tables[0].get();
  double before_ns = ThreadNs();
  for (uint64_t i = 0; i < context.config.keys && !Interrupted(); ++i) {
    done &= table->Put(entries.key(i * 7919 % kKeys), i + 1, entries.value(i % kKeys)).ok();
    double now_ns = ThreadNs();
    puts->Record(static_cast<uint64_t>(now_ns - before_ns));
    if (table->ShouldFreeze()) {
      table->Freeze();
      const size_t next = (active.load() + 1) % kTables;
      table = tables[next].get();
      done &= table->ResetWarm(WhenBusy::kWait).ok();
      active.store(next);
      now_ns = ThreadNs();
    }
    before_ns = now_ns;
  }
  stop.store(true, std::memory_order_relaxed);
  reader.join();
  std::vector<CheckRow> rows = {
      {"longest put of " + Grouped(puts->count()) + " by thread CPU time, tables of 64 MiB, scans beside it", "< 2 ms",
       Duration(puts->max_ns()) + "; p50 " + Duration(puts->Quantile(0.5)) + ", p99.99 " +
           Duration(puts->Quantile(0.9999)) + "; " + Grouped(scans) + " scans of 100 keys",
       done && static_cast<double>(puts->max_ns()) < kBoundNs}};
  AddLockHolds(&rows);
  return rows;
}

constexpr std::array<Check, 2> kChecks = {&ManyWriters, &LongestPut};

}  // namespace

std::span<const Check> WritersChecks() { return kChecks; }

}  // namespace strongbin::dbbench
