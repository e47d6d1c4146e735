// Bounds on what a warm rotation is worth, and counts that no sampling has a part in.
#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "strongbin/arena/key_arena.h"
#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/tools/dbbench/alloc_counter.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/latency_histogram.h"
#include "strongbin/tools/dbbench/measure.h"
#include "strongbin/tools/dbbench/selfcheck.h"
#include "strongbin/tools/dbbench/selfcheck_tools.h"

namespace strongbin::dbbench {
namespace {

struct Rotation {
  uint64_t faults = 0;
  std::unique_ptr<LatencyHistogram> puts;  // by the thread's processor time
};

// Fills the table until it is full, and empties it.
Rotation FillAndReset(AppendOnlyMemtable* table, const Entries& entries, std::string_view value, bool* done) {
  Rotation rotation;
  rotation.puts = std::make_unique<LatencyHistogram>();
  const uint64_t faults = SampleProcess().minor_faults;
  double before_ns = ThreadNs();
  for (size_t i = 0; i < entries.count() && !table->ShouldFreeze(); ++i) {
    *done &= table->Put(entries.key(i), i + 1, value).ok();
    const double now_ns = ThreadNs();
    rotation.puts->Record(static_cast<uint64_t>(now_ns - before_ns));
    before_ns = now_ns;
  }
  rotation.faults = SampleProcess().minor_faults - faults;
  *done &= table->ResetWarm().ok();
  return rotation;
}

std::string Percentiles(const LatencyHistogram& puts) {
  return "p50 " + Duration(puts.Quantile(0.5)) + ", p99 " + Duration(puts.Quantile(0.99)) + ", p99.99 " +
         Duration(puts.Quantile(0.9999)) + ", max " + Duration(puts.max_ns());
}

// One writer, values of 1 KiB, memtables of 48 MiB, huge pages off: the first of ten rotations beside the others.
std::vector<CheckRow> ColdAndWarmRotations(const CheckContext& context) {
  constexpr size_t kTableBytes = size_t{48} << 20;
  constexpr int kRotations = 10;
  constexpr double kBound = 0.05;
  const std::string value(1024, 'v');
  const Entries entries(kTableBytes / value.size(), /*sorted=*/false, context.config.seed);
  ChunkPoolOptions pool_options;
  pool_options.cap_bytes = kTableBytes * 5 / 4;
  pool_options.cold_start.huge_pages = false;
  ChunkPool pool(pool_options);
  MemtableOptions options;
  options.pool = &pool;
  options.freeze_bytes = kTableBytes;
  AppendOnlyMemtable table(options);
  bool done = true;
  const Rotation cold = FillAndReset(&table, entries, value, &done);
  std::vector<double> longest, faults;
  LatencyHistogram warm;
  for (int i = 1; i < kRotations; ++i) {
    const Rotation rotation = FillAndReset(&table, entries, value, &done);
    warm.Merge(*rotation.puts);
    longest.push_back(static_cast<double>(rotation.puts->max_ns()));
    faults.push_back(static_cast<double>(rotation.faults));
  }
  const double share = Median(faults) / static_cast<double>(std::max<uint64_t>(cold.faults, 1));
  return {{"page faults of warm rotations, 48 MiB of 1 KiB values", "< 5 % of the first one's",
           Grouped(Median(faults), 0) + " beside " + Grouped(cold.faults), done && share < kBound},
          {"longest put of warm rotations by thread CPU time, median", "below the first one's longest",
           Duration(static_cast<uint64_t>(Median(longest))) + " beside " + Duration(cold.puts->max_ns()),
           done && Median(longest) < static_cast<double>(cold.puts->max_ns())},
          {"puts of the first rotation", "", Percentiles(*cold.puts)},
          {"puts of rotations 2 to 10", "", Percentiles(warm)}};
}

// How many buffers the growth rule makes of so many bytes in pieces that always fit to the end.
uint64_t BuffersFor(size_t bytes) {
  uint64_t buffers = 0;
  for (size_t held_bytes = 0; held_bytes < bytes; ++buffers) {
    held_bytes += std::clamp(std::bit_floor(held_bytes / 8), kMinChunkBytes, kMaxChunkBytes);
  }
  return buffers;
}

// A million keys of 16 bytes: chunks and calls of malloc, counted, not sampled.
std::vector<CheckRow> ExactCounts(const CheckContext&) {
  constexpr size_t kAppends = 1'000'000;
  constexpr size_t kKeyBytes = 16;
  ChunkPoolOptions options;
  options.source = ChunkSourceKind::kMalloc;
  ChunkPool pool(options);
  const uint64_t expected = BuffersFor(kAppends * kKeyBytes);
  std::array<uint64_t, 2> fresh{}, gets{}, mallocs{};
  for (size_t round = 0; round < 2; ++round) {
    const PoolStats before = pool.Stats();
    KeyArena arena({.pool = &pool});
    const uint64_t calls = ThreadAllocations().calls;
    for (size_t i = 0; i < kAppends; ++i) {
      char* allocated = arena.Allocate(kKeyBytes);
      asm volatile("" : : "r"(allocated) : "memory");
    }
    mallocs[round] = ThreadAllocations().calls - calls;
    constexpr auto kKey = static_cast<size_t>(ChunkKind::k_key);
    const PoolStats after = pool.Stats();
    fresh[round] = after.fresh_chunks[kKey] - before.fresh_chunks[kKey];
    gets[round] = after.kind_gets[kKey] - before.kind_gets[kKey];
  }
  const std::string bound = Grouped(expected) + " chunks, as computed from the classes, all fresh; then none fresh";
  CheckRow row = {"1,000,000 appends of 16 bytes, counted", bound,
                  Grouped(gets[0]) + " chunks, " + Grouped(fresh[0]) + " fresh; then " + Grouped(gets[1]) +
                      " chunks, " + Grouped(fresh[1]) + " fresh",
                  gets[0] == expected && fresh[0] == expected && gets[1] == expected && fresh[1] == 0};
  if (AllocationsAreCounted()) {
    row.measured += "; calls of malloc " + Grouped(mallocs[0]) + ", then " + Grouped(mallocs[1]);
    row.pass &= mallocs[0] >= expected && mallocs[1] * 10 < mallocs[0];
  }
  return {row};
}

constexpr std::array<Check, 2> kChecks = {&ColdAndWarmRotations, &ExactCounts};

}  // namespace

std::span<const Check> RotationChecks() { return kChecks; }

}  // namespace strongbin::dbbench
