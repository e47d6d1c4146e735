// What a chunk costs: get and put, from a bin and past it, alone and with other threads.
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "strongbin/pool/chunk_pool.h"

namespace strongbin {
namespace {

ChunkPool* NewPool(size_t cap_bytes) {
  ChunkPoolOptions options;
  options.cap_bytes = cap_bytes;
  return new ChunkPool(options);
}

void BM_GetAndPutHit(benchmark::State& state) {
  static ChunkPool* const pool = NewPool(size_t{64} << 20);
  const auto bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    const Chunk chunk = pool->Acquire(bytes, ChunkKind::k_key);
    benchmark::DoNotOptimize(chunk.data);
    ChunkPool::Release(chunk);
  }
}
BENCHMARK(BM_GetAndPutHit)->ArgName("bytes")->Arg(2048)->Arg(1 << 20)->Threads(1)->Threads(4)->UseRealTime();

// Cap 0: every get carves or maps, every put gives the memory back. `touch` writes one byte to each page.
void BM_GetAndPutMiss(benchmark::State& state) {
  static ChunkPool* const pool = NewPool(0);
  const auto bytes = static_cast<size_t>(state.range(0));
  const bool touch = state.range(1) != 0;
  for (auto _ : state) {
    const Chunk chunk = pool->Acquire(bytes, ChunkKind::k_key);
    if (touch) {
      for (size_t at = 0; at < bytes; at += 4096) chunk.data[at] = 1;
    }
    benchmark::DoNotOptimize(chunk.data);
    ChunkPool::Release(chunk);
  }
}
BENCHMARK(BM_GetAndPutMiss)
    ->ArgNames({"bytes", "touch"})
    ->ArgsProduct({{2048, 1 << 20}, {0, 1}})
    ->Threads(1)
    ->Threads(4)
    ->UseRealTime();

// What ending a table costs: 64 MiB come back in one call, and are taken again.
void BM_TakeAndReleaseATable(benchmark::State& state) {
  static ChunkPool* const pool = NewPool(size_t{64} << 20);
  const auto bytes = static_cast<size_t>(state.range(0));
  std::vector<Chunk> chunks((size_t{64} << 20) / bytes);
  for (auto _ : state) {
    for (Chunk& chunk : chunks) chunk = pool->Acquire(bytes, ChunkKind::k_key);
    ChunkPool::Release(chunks);
  }
  pool->OnMemoryPressure();
  state.counters["ns_per_chunk"] =
      benchmark::Counter(static_cast<double>(chunks.size()) * static_cast<double>(state.iterations()) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_TakeAndReleaseATable)->ArgName("bytes")->Arg(2048)->Arg(1 << 20)->Unit(benchmark::kMicrosecond);

// The pressure hook on a pool full of touched chunks.
void BM_PressureOnAFullPool(benchmark::State& state) {
  static ChunkPool* const pool = NewPool(size_t{64} << 20);
  const auto bytes = static_cast<size_t>(state.range(0));
  std::vector<Chunk> chunks((size_t{64} << 20) / bytes);
  for (auto _ : state) {
    state.PauseTiming();
    for (Chunk& chunk : chunks) {
      chunk = pool->Acquire(bytes, ChunkKind::k_key);
      for (size_t at = 0; at < bytes; at += 2048) chunk.data[at] = 1;
    }
    ChunkPool::Release(chunks);
    state.ResumeTiming();
    benchmark::DoNotOptimize(pool->OnMemoryPressure());
  }
}
BENCHMARK(BM_PressureOnAFullPool)
    ->ArgName("bytes")
    ->Arg(2048)
    ->Arg(1 << 20)
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(20);

}  // namespace
}  // namespace strongbin
