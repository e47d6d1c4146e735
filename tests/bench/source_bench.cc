// What memory behind chunks costs and whether it really leaves, by source: docs/decisions/memory.md.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <unistd.h>
#include <vector>

#include <benchmark/benchmark.h>

#include "strongbin/pool/chunk_pool.h"

namespace strongbin {
namespace {

constexpr size_t kTotalBytes = size_t{64} << 20;

double ResidentMib() {
  long total_pages = 0;
  long resident_pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file != nullptr) {
    if (std::fscanf(file, "%ld %ld", &total_pages, &resident_pages) != 2) resident_pages = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident_pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// 64 MiB are taken, written to and given up in each round. `kept_mib`: how much larger the process is after the last.
void BM_TakeWriteAndDrop(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  ChunkPool pool({.source = state.range(1) == 1 ? ChunkSourceKind::kMalloc : ChunkSourceKind::kMmapSlab,
                  .cold_start = {.huge_pages = state.range(2) == 1}});
  std::vector<Chunk> chunks(kTotalBytes / bytes);
  const double before_mib = ResidentMib();
  double filled_mib = 0;
  for (auto _ : state) {
    for (Chunk& chunk : chunks) {
      chunk = pool.Acquire(bytes, ChunkKind::k_key);
      for (size_t at = 0; at < bytes; at += 2048) chunk.data[at] = 1;
    }
    state.PauseTiming();
    filled_mib = ResidentMib() - before_mib;
    state.ResumeTiming();
    // One stays, as a pin or a long-lived table would.
    ChunkPool::Drop(std::span(chunks).first(chunks.size() - 1));
    state.PauseTiming();
    state.counters["kept_mib"] = ResidentMib() - before_mib;
    ChunkPool::Drop(chunks.back());
    state.ResumeTiming();
  }
  state.counters["filled_mib"] = filled_mib;
}
BENCHMARK(BM_TakeWriteAndDrop)
    ->ArgNames({"bytes", "malloc", "huge_pages"})
    ->ArgsProduct({{2048, 65536, 1 << 20}, {0}, {0, 1}})
    ->ArgsProduct({{2048, 65536, 1 << 20}, {1}, {0}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace strongbin
