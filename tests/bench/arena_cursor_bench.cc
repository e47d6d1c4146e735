// What an allocation costs behind many filled buffers: the forward-only cursor beside a walk from the first buffer.
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "strongbin/arena/monotonic_arena.h"
#include "strongbin/tests/bench/first_fit_arena.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Both arenas behind one face, made over a pool that is large enough to be warm.
struct Cursor {
  static constexpr const char* kName = "cursor";
  explicit Cursor(ChunkPool* pool, size_t min_buffer_bytes)
      : arena([&] {
          MonotonicArenaOptions options;
          options.pool = pool;
          options.min_buffer_bytes = min_buffer_bytes;
          return options;
        }()) {}
  MonotonicArena arena;
};
struct Walk {
  static constexpr const char* kName = "walk";
  explicit Walk(ChunkPool* pool, size_t min_buffer_bytes) : arena(pool, min_buffer_bytes) {}
  FirstFitArena arena;
};

ChunkPool& WarmPool() {
  static ChunkPool* const pool = [] {
    ChunkPoolOptions options;
    options.cap_bytes = size_t{2} << 30;
    return new ChunkPool(options);
  }();
  return *pool;
}

// Allocations of 16 bytes with state.range(0) filled buffers of the largest class behind them. Each batch fills less
// than one buffer and is undone by making the arena anew, outside the clock.
template <class Arena>
void BM_AllocateBehindFilledBuffers(benchmark::State& state) {
  constexpr size_t kBatch = 32 * 1024;
  constexpr size_t kBytes = 16;
  const auto filled_buffers = static_cast<size_t>(state.range(0));
  uint64_t examined = 0;
  uint64_t allocations = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto holder = std::make_unique<Arena>(&WarmPool(), kMaxChunkBytes);
    // A quarter of a buffer each, so that it is full to the last byte.
    for (size_t i = 0; i < filled_buffers * 4; i++)
      benchmark::DoNotOptimize(holder->arena.Allocate(kMaxChunkBytes / 4));
    benchmark::DoNotOptimize(holder->arena.Allocate(kBytes));  // the buffer that the batch goes to
    const uint64_t before = holder->arena.buffers_examined();
    state.ResumeTiming();
    for (size_t i = 0; i < kBatch; i++) benchmark::DoNotOptimize(holder->arena.Allocate(kBytes));
    state.PauseTiming();
    examined += holder->arena.buffers_examined() - before;
    allocations += kBatch;
    holder.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<int64_t>(allocations));
  state.counters["examined_per_allocation"] = static_cast<double>(examined) / static_cast<double>(allocations);
  state.counters["ns_per_allocation"] = benchmark::Counter(static_cast<double>(allocations) * 1e-9,
                                                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_TEMPLATE(BM_AllocateBehindFilledBuffers, Cursor)->ArgName("filled_buffers")->Arg(10)->Arg(100)->Arg(1000);
BENCHMARK_TEMPLATE(BM_AllocateBehindFilledBuffers, Walk)->ArgName("filled_buffers")->Arg(10)->Arg(100)->Arg(1000);

// The sizes that building a nested document value by value asks for: mostly small scalars and keys, some strings, and
// arrays of members that are laid down when their object or list ends. 8 bytes to 4 KiB.
std::vector<uint32_t> DocumentSizes(size_t count) {
  std::mt19937 random(42);
  std::vector<uint32_t> sizes;
  std::vector<uint32_t> members;  // of the objects that are open, outermost first
  while (sizes.size() < count) {
    const auto dice = random() % 100;
    if (dice < 8 && members.size() < 12) {
      members.push_back(0);
      continue;
    }
    if (dice < 16 && !members.empty()) {
      sizes.push_back(std::min<uint32_t>(16 + members.back() * 24, 4096));
      members.pop_back();
      continue;
    }
    if (!members.empty()) members.back()++;
    if (dice < 60) {
      sizes.push_back(static_cast<uint32_t>(8 + random() % 3 * 8));
    } else if (dice < 90) {
      sizes.push_back(static_cast<uint32_t>(8 + random() % 56));
    } else if (dice < 98) {
      sizes.push_back(static_cast<uint32_t>(64 + random() % 448));
    } else {
      sizes.push_back(static_cast<uint32_t>(512 + random() % 3585));
    }
  }
  return sizes;
}

// Builds one document of state.range(0) values per iteration, chunks warm, and ends the arena.
template <class Arena>
void BM_BuildDocument(benchmark::State& state) {
  const std::vector<uint32_t> sizes = DocumentSizes(static_cast<size_t>(state.range(0)));
  size_t peak_bytes = 0;
  size_t abandoned_bytes = 0;
  uint64_t examined = 0;
  size_t asked_bytes = 0;
  for (const uint32_t bytes : sizes) asked_bytes += bytes;
  for (auto _ : state) {
    Arena holder(&WarmPool(), kMinChunkBytes);
    for (const uint32_t bytes : sizes) {
      char* data = holder.arena.Allocate(bytes);
      std::memset(data, 1, 8);
      benchmark::DoNotOptimize(data);
    }
    peak_bytes = holder.arena.peak_bytes();
    abandoned_bytes = holder.arena.abandoned_bytes();
    examined = holder.arena.buffers_examined();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
  state.counters["asked_bytes"] = static_cast<double>(asked_bytes);
  state.counters["peak_bytes"] = static_cast<double>(peak_bytes);
  state.counters["abandoned_bytes"] = static_cast<double>(abandoned_bytes);
  state.counters["examined_per_allocation"] = static_cast<double>(examined) / static_cast<double>(sizes.size());
}
BENCHMARK_TEMPLATE(BM_BuildDocument, Cursor)->ArgName("values")->Arg(50)->Arg(400'000)->Unit(benchmark::kMicrosecond);
BENCHMARK_TEMPLATE(BM_BuildDocument, Walk)->ArgName("values")->Arg(50)->Arg(400'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace strongbin
