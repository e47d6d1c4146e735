// Bounds on ordered reads of the bare component, on a key with very many versions, and on memory beside keys and
// values.
#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/memtable/key_order.h"
#include "strongbin/memtable/record_sort.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/selfcheck.h"
#include "strongbin/tools/dbbench/selfcheck_tools.h"

namespace strongbin::dbbench {
namespace {

constexpr size_t kEntries = 1'000'000;

// A table whose pool keeps all that a generation holds.
struct WarmTable {
  std::unique_ptr<ChunkPool> pool = NewSelfcheckPool(/*huge_pages=*/true);
  AppendOnlyMemtable table{{.pool = pool.get(), .freeze_bytes = size_t{1} << 30}};
};

double LibrarySortNs(const Entries& entries) {
  std::vector<RunRecord> records(entries.count());
  for (size_t i = 0; i < entries.count(); ++i) {
    records[i] = KeyOrder<EntryFace>::MakeRecord(entries.key(i), static_cast<uint32_t>(i), 0);
  }
  const double start = ThreadNs();
  SortByBits(records.data(), records.size());
  return ThreadNs() - start;
}

// The first ordered read after Freeze, which sorts, beside the library's sort of the same records; and a whole walk
// after it.
std::vector<CheckRow> FirstReadAndDrain(const CheckContext& context) {
  constexpr int kRounds = 7;
  constexpr double kSortBound = 1.15, kSortedBoundNs = 2, kDrainBoundNs = 25;
  std::vector<CheckRow> rows;
  for (const bool sorted : {false, true}) {
    const Entries entries(kEntries, sorted, context.config.seed);
    WarmTable warm;
    bool done = true;
    std::vector<double> ratios, first_ns, library_ns, drain_ns;
    for (int round = 0; round <= kRounds; ++round) {
      done &= PutAll(&warm.table, entries, kSelfcheckBatch);
      warm.table.Freeze();
      {
        MemtableIterator it = warm.table.NewIterator({.all_versions = true});
        const double start = ThreadNs();
        it.SeekToFirst();
        const double first = ThreadNs() - start;
        size_t count = 0;
        for (it.SeekToFirst(); it.Valid(); it.Next()) {
          asm volatile("" : : "r"(it.key().data()) : "memory");
          ++count;
        }
        const double drain = ThreadNs() - start - first;
        done &= count == kEntries;
        const double library = LibrarySortNs(entries);
        if (round > 0) {  // the first one is cold
          ratios.push_back(first / library);
          first_ns.push_back(first / kEntries);
          library_ns.push_back(library / kEntries);
          drain_ns.push_back(drain / kEntries);
        }
      }
      done &= warm.table.ResetWarm().ok();
    }
    const std::string which = sorted ? "ascending" : "random";
    if (sorted) {
      rows.push_back({"first ordered read of 1,000,000 ascending keys", "<= 2 ns an entry", Spread(first_ns, " ns"),
                      done && Median(first_ns) <= kSortedBoundNs});
    } else {
      rows.push_back({"first ordered read of 1,000,000 random keys, frozen", "<= 1.15 x the library's sort alone",
                      Spread(ratios, " x") + "; " + Significant(Median(first_ns)) + " ns beside " +
                          Significant(Median(library_ns)) + " ns an entry",
                      done && Median(ratios) <= kSortBound});
    }
    rows.push_back({"ordered walk over 1,000,000 keys, written " + which, "<= 25 ns an entry", Spread(drain_ns, " ns"),
                    done && Median(drain_ns) <= kDrainBoundNs});
  }
  return rows;
}

// A put, and a scan of 100 keys that must see it, again and again.
std::vector<CheckRow> ScanAfterEachPut(const CheckContext& context) {
  constexpr int kRounds = 5;
  constexpr size_t kScans = 2'000;
  constexpr double kBoundNs = 5'000;
  const Entries entries(kEntries, /*sorted=*/false, context.config.seed);
  const Entries more(kRounds * kScans, /*sorted=*/false, context.config.seed + 1);
  WarmTable warm;
  bool done = PutAll(&warm.table, entries, kSelfcheckBatch);
  warm.table.NewIterator().SeekToFirst();
  std::vector<CheckRow> rows;
  size_t put_count = 0;
  for (const bool with_values : {false, true}) {
    std::vector<double> times;
    std::mt19937_64 random(context.config.seed);
    for (int round = 0; round < kRounds; ++round) {
      const double start = ThreadNs();
      for (size_t scan = 0; scan < kScans; ++scan, ++put_count) {
        const size_t i = put_count % more.count();
        done &= warm.table.Put(more.key(i), kEntries + put_count + 1, more.value(i)).ok();
        MemtableIterator it = warm.table.NewIterator();
        it.Seek(entries.key(random() % kEntries));
        for (int step = 0; step < 100 && it.Valid(); ++step, it.Next()) {
          asm volatile("" : : "r"(it.key().data()) : "memory");
          if (with_values) asm volatile("" : : "r"(it.value()[0]) : "memory");
        }
      }
      times.push_back((ThreadNs() - start) / kScans);
    }
    const double median = Median(times);
    rows.push_back({with_values ? "the same with a look at the values" : "a put and a scan of 100 keys of 1,000,000",
                    with_values ? "" : "<= 5 us", Spread(times, " ns"), done && (with_values || median <= kBoundNs)});
  }
  return rows;
}

// One key written a million times and read a million times, beside a million keys.
std::vector<CheckRow> HotKey(const CheckContext& context) {
  constexpr int kRounds = 5;
  constexpr double kBound = 1.5;
  const Entries many(kEntries, /*sorted=*/false, context.config.seed);
  const auto measure = [&](AppendOnlyMemtable* table, bool hot, double* put_ns, double* get_ns) {
    bool done = true;
    const auto key = [&](size_t i) { return hot ? many.key(0) : many.key(i); };
    double start = ThreadNs();
    for (size_t i = 0; i < kEntries; ++i) done &= table->Put(key(i), i + 1, many.value(i)).ok();
    *put_ns = (ThreadNs() - start) / kEntries;
    start = ThreadNs();
    // Keys are random already; another order than that of their arrival.
    for (size_t i = 0; i < kEntries; ++i) done &= table->Get(key(i * 7919 % kEntries)).found();
    *get_ns = (ThreadNs() - start) / kEntries;
    return done && table->ResetWarm().ok();
  };
  WarmTable warm;
  bool done = true;
  std::vector<double> put_ratios, get_ratios;
  for (int round = 0; round <= kRounds; ++round) {
    double many_put = 0, many_get = 0, hot_put = 0, hot_get = 0;
    done &= measure(&warm.table, false, &many_put, &many_get) && measure(&warm.table, true, &hot_put, &hot_get);
    if (round == 0) continue;  // cold
    put_ratios.push_back(hot_put / many_put);
    get_ratios.push_back(hot_get / many_get);
  }
  return {{"one key put 1,000,000 times", "<= 1.5 x as many keys", Spread(put_ratios, " x"),
           done && Median(put_ratios) <= kBound},
          {"and its newest version read 1,000,000 times", "<= 1.5 x as many keys", Spread(get_ratios, " x"),
           done && Median(get_ratios) <= kBound}};
}

// Everything that is held beyond the bytes of keys and values, at sizes on and off the steps in which the index grows.
std::vector<CheckRow> Overhead(const CheckContext& context) {
  constexpr std::array<size_t, 6> kSizes = {100'000, 170'000, 300'000, 420'000, 650'000, kEntries};
  constexpr double kBound = 40, kRunBound = 16;
  const Entries entries(kEntries, /*sorted=*/false, context.config.seed);
  double most = 0, run_bytes = 0;
  std::string all;
  bool done = true;
  for (const size_t size : kSizes) {
    WarmTable warm;
    for (size_t i = 0; i < size; ++i) done &= warm.table.Put(entries.key(i), i + 1, entries.value(i)).ok();
    const double payload = static_cast<double>(size * (kSelfcheckKeyBytes + kSelfcheckValueBytes));
    const double overhead = (static_cast<double>(warm.table.MemoryUsage()) - payload) / static_cast<double>(size);
    most = std::max(most, overhead);
    all += (all.empty() ? "" : ", ") + Significant(overhead);
    warm.table.NewIterator().SeekToFirst();
    run_bytes = static_cast<double>(warm.table.Stats().used_bytes[static_cast<size_t>(ChunkKind::k_run)]) /
                static_cast<double>(size);
  }
  return {{"bytes held for an entry beyond its key and value, 100,000 to 1,000,000 random keys", "<= 40", all,
           done && most <= kBound},
          {"bytes of an entry in a sorted run", "<= 16", Significant(run_bytes), done && run_bytes <= kRunBound}};
}

constexpr std::array<Check, 4> kChecks = {&FirstReadAndDrain, &ScanAfterEachPut, &HotKey, &Overhead};

}  // namespace

std::span<const Check> OrderChecks() { return kChecks; }

}  // namespace strongbin::dbbench
