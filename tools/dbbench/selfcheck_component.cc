// Bounds on the bare component: what a put costs beside a copy of its bytes, what a warm round costs beside a cold one,
// ordered draining beside a sort through pointers, and the arena's cursor.
#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "strongbin/arena/monotonic_arena.h"
#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/stats/snapshot.h"
#include "strongbin/tools/dbbench/cursor.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/measure.h"
#include "strongbin/tools/dbbench/selfcheck.h"
#include "strongbin/tools/dbbench/selfcheck_tools.h"

namespace strongbin::dbbench {
namespace {

constexpr size_t kKeyBytes = kSelfcheckKeyBytes;
constexpr size_t kValueBytes = kSelfcheckValueBytes;

// Copies the same bytes into chunks of the classes that a table of this size takes, which the pool has warm.
double CopyNs(ChunkPool* pool, const Entries& entries) {
  std::vector<Chunk> chunks;
  const size_t wanted_bytes = entries.count() * (kKeyBytes + kValueBytes);
  for (size_t held_bytes = 0; held_bytes < wanted_bytes; held_bytes += chunks.back().bytes) {
    const size_t next_bytes = std::clamp(held_bytes / 8, kMinChunkBytes, kMaxChunkBytes);
    chunks.push_back(pool->Acquire(ClassBytes(ClassFor(next_bytes)), ChunkKind::k_value));
  }
  const double start = ThreadNs();
  size_t chunk = 0;
  size_t used = 0;
  for (size_t i = 0; i < entries.count(); ++i) {
    if (used + kKeyBytes + kValueBytes > chunks[chunk].bytes) {
      chunk = (chunk + 1) % chunks.size();
      used = 0;
    }
    char* to = chunks[chunk].data + used;
    std::copy_n(entries.key(i).data(), kKeyBytes, to);
    std::copy_n(entries.value(i).data(), kValueBytes, to + kKeyBytes);
    asm volatile("" : : "r"(to) : "memory");
    used += kKeyBytes + kValueBytes;
  }
  const double ns = ThreadNs() - start;
  ChunkPool::Release(chunks);
  return ns;
}

// Put with index, warm, beside the copy of the same bytes into the same pool's chunks, alternating.
std::vector<CheckRow> PutCost(const CheckContext& context) {
  constexpr size_t kEntries = 400'000;
  constexpr int kRounds = 9;
  std::vector<CheckRow> rows;
  for (const bool sorted : {true, false}) {
    const Entries entries(kEntries, sorted, context.config.seed);
    const double bound = sorted ? 1.3 : 1.6;
    for (const size_t batch_entries : {kSelfcheckBatch, size_t{1}}) {
      for (const bool huge_pages : {true, false}) {
        const std::unique_ptr<ChunkPool> pool = NewSelfcheckPool(huge_pages);
        MemtableOptions options;
        options.pool = pool.get();
        AppendOnlyMemtable table(options);
        bool done = true;
        std::vector<double> ratios, put_ns, copy_ns;
        for (int round = 0; round <= kRounds; ++round) {
          const double copy = CopyNs(pool.get(), entries);
          const double start = ThreadNs();
          done &= PutAll(&table, entries, batch_entries);
          const double put = ThreadNs() - start;
          done &= table.ResetWarm().ok();
          if (round == 0) continue;  // cold
          ratios.push_back(put / copy);
          put_ns.push_back(put / kEntries);
          copy_ns.push_back(copy / kEntries);
        }
        const double ratio = Median(ratios);
        rows.push_back({std::string("put with index, ") + (sorted ? "ascending" : "random") +
                            (batch_entries == 1 ? ", single" : ", batches of " + Grouped(kSelfcheckBatch)) +
                            (huge_pages ? ", huge pages on" : ", huge pages off"),
                        "<= " + Significant(bound) + " x copy of 144 bytes",
                        Spread(ratios, " x") + "; put " + Significant(Median(put_ns)) + " ns, copy " +
                            Significant(Median(copy_ns)) + " ns",
                        done && ratio <= bound});
      }
    }
  }
  return rows;
}

// The first round on a new pool beside later ones: page faults and fresh chunks, huge pages off.
std::vector<CheckRow> WarmRounds(const CheckContext& context) {
  constexpr size_t kEntries = 400'000;
  constexpr double kBound = 0.05;
  std::vector<CheckRow> rows;
  for (const bool sorted : {true, false}) {
    const Entries entries(kEntries, sorted, context.config.seed);
    const std::unique_ptr<ChunkPool> pool = NewSelfcheckPool(/*huge_pages=*/false);
    MemtableOptions options;
    options.pool = pool.get();
    AppendOnlyMemtable table(options);
    uint64_t cold_faults = 0, warm_faults = 0, warm_fresh = 0;
    double cold_ns = 0;
    std::vector<double> warm_ns;
    bool done = true;
    for (int round = 0; round < 5; ++round) {
      const uint64_t faults = SampleProcess().minor_faults;
      const PoolStats before = pool->Stats();
      const double start = ThreadNs();
      done &= PutAll(&table, entries, kSelfcheckBatch);
      const double ns = (ThreadNs() - start) / kEntries;
      const PoolStats round_stats = Diff(pool->Stats(), before);
      const uint64_t round_faults = SampleProcess().minor_faults - faults;
      done &= table.ResetWarm().ok();
      if (round == 0) {
        cold_faults = round_faults;
        cold_ns = ns;
      } else {
        warm_faults = std::max(warm_faults, round_faults);
        warm_fresh += SumOfLabels(round_stats.fresh_chunks);
        warm_ns.push_back(ns);
      }
    }
    const std::string order = sorted ? "ascending" : "random";
    const double share = static_cast<double>(warm_faults) / static_cast<double>(std::max<uint64_t>(cold_faults, 1));
    rows.push_back({"page faults of a warm round, " + order + ", huge pages off", "< 5 % of the cold round's",
                    Grouped(warm_faults) + " beside " + Grouped(cold_faults) + "; put " + Significant(Median(warm_ns)) +
                        " ns beside " + Significant(cold_ns) + " ns",
                    done && share < kBound});
    rows.push_back({"fresh chunks of warm rounds 2 to 5, " + order, "0", Grouped(warm_fresh), done && warm_fresh == 0});
  }
  return rows;
}

// Freeze and full ordered drain beside std::sort of the same keys through pointers.
std::vector<CheckRow> OrderedDrain(const CheckContext& context) {
  constexpr size_t kEntries = 1'000'000;
  constexpr int kRounds = 5;
  constexpr double kBound = 5;
  const Entries entries(kEntries, /*sorted=*/false, context.config.seed);
  const std::unique_ptr<ChunkPool> pool = NewSelfcheckPool(/*huge_pages=*/true);
  MemtableOptions options;
  options.pool = pool.get();
  AppendOnlyMemtable table(options);
  std::vector<double> ratios, drain_ns, sort_ns;
  bool same = true;
  for (int round = 0; round < kRounds; ++round) {
    same &= PutAll(&table, entries, kSelfcheckBatch);
    uint64_t drained_sum = 0, sorted_sum = 0;  // depend on the order
    double start = ThreadNs();
    table.Freeze();
    {
      MemtableIterator it = table.NewIterator({.all_versions = true});
      uint64_t rank = 0;
      for (it.SeekToFirst(); it.Valid(); it.Next()) drained_sum += ++rank * static_cast<unsigned char>(it.key()[15]);
    }
    const double drain = ThreadNs() - start;
    std::vector<const char*> pointers(kEntries);
    for (size_t i = 0; i < kEntries; ++i) pointers[i] = entries.key(i).data();
    start = ThreadNs();
    std::sort(pointers.begin(), pointers.end(), [](const char* a, const char* b) {
      return std::string_view(a, kKeyBytes) < std::string_view(b, kKeyBytes);
    });
    uint64_t rank = 0;
    for (const char* key : pointers) sorted_sum += ++rank * static_cast<unsigned char>(key[15]);
    const double sort = ThreadNs() - start;
    same &= drained_sum == sorted_sum && table.ResetWarm().ok();
    ratios.push_back(sort / drain);
    drain_ns.push_back(drain / kEntries);
    sort_ns.push_back(sort / kEntries);
  }
  return {{"freeze and ordered drain of 1,000,000 random keys beside std::sort through pointers", ">= 5 times faster",
           Spread(ratios, " x") + "; " + Significant(Median(drain_ns)) + " ns beside " + Significant(Median(sort_ns)) +
               " ns a key",
           same && Median(ratios) >= kBound}};
}

// Allocation behind few and behind many filled buffers, and room lost in a mixed load.
std::vector<CheckRow> Cursor(const CheckContext& context) {
  const std::unique_ptr<ChunkPool> pool = NewSelfcheckPool(/*huge_pages=*/true);
  std::array<std::vector<double>, kBuffersBehind.size()> times;
  std::array<uint64_t, kBuffersBehind.size()> examined{};
  for (int round = 0; round < kCursorRounds; ++round) {
    for (size_t i = 0; i < kBuffersBehind.size(); ++i) {
      MonotonicArena arena({.pool = pool.get(), .min_buffer_bytes = kMaxChunkBytes});
      const CursorCost cost = AllocateBehind(arena, kBuffersBehind[i], kCursorAllocations);
      times[i].push_back(cost.ns);
      examined[i] = cost.examined;
    }
  }
  std::vector<CheckRow> rows;
  std::string counts, medians;
  for (size_t i = 0; i < kBuffersBehind.size(); ++i) {
    counts += (i ? ", " : "") + Grouped(examined[i]);
    medians += (i ? ", " : "") + Significant(Median(times[i]));
  }
  const auto [fewest, most] = std::minmax_element(examined.begin(), examined.end());
  rows.push_back(
      {"buffers examined in 45,000 allocations behind 10, 100 and 1,000 buffers", "equal", counts, *most == *fewest});
  const double few = Median(times[0]), many = Median(times[2]);
  rows.push_back({"time of an allocation behind 10, 100 and 1,000 buffers", "within 20 % or 0.5 ns", medians + " ns",
                  many <= few * 1.2 || many <= few + 0.5});

  std::mt19937_64 random(context.config.seed);
  MonotonicArena mixed({.pool = pool.get()});
  for (int n = 0; n < 100'000; ++n) static_cast<void>(mixed.Allocate(8 + random() % 4089));
  const double lost = static_cast<double>(mixed.abandoned_bytes()) / static_cast<double>(mixed.used_bytes());
  rows.push_back({"room abandoned in 100,000 allocations of 8 bytes to 4 KiB", "< 1 %", Significant(100 * lost) + " %",
                  lost < 0.01});
  return rows;
}

constexpr std::array<Check, 4> kChecks = {&PutCost, &WarmRounds, &OrderedDrain, &Cursor};

}  // namespace

std::span<const Check> ComponentChecks() { return kChecks; }

}  // namespace strongbin::dbbench
