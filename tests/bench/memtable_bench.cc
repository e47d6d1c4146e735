// What a put into the bare memtable costs, cold and warm, alone and in batches; and what reading it costs afterwards.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "strongbin/memtable/append_only_memtable.h"

namespace strongbin {
namespace {

constexpr size_t kKeyBytes = 16;
constexpr size_t kEntries = 100'000;

// 16-byte keys behind each other, random or ascending.
const std::vector<char>& Keys(bool ascending) {
  static const std::array<std::vector<char>, 2> keys = [] {
    std::mt19937_64 random(42);
    std::array<std::vector<char>, 2> made;
    std::vector<std::array<char, kKeyBytes>> list(kEntries);
    for (auto& key : list) {
      for (size_t i = 0; i < kKeyBytes; i += 8) {
        const uint64_t word = random();
        std::memcpy(key.data() + i, &word, 8);
      }
    }
    const auto flatten = [&] {
      std::vector<char> flat;
      for (const auto& key : list) flat.insert(flat.end(), key.begin(), key.end());
      return flat;
    };
    made[0] = flatten();
    std::sort(list.begin(), list.end(),
              [](const auto& a, const auto& b) { return std::memcmp(a.data(), b.data(), kKeyBytes) < 0; });
    made[1] = flatten();
    return made;
  }();
  return keys[ascending];
}

std::string_view KeyAt(const std::vector<char>& keys, size_t i) { return {keys.data() + i * kKeyBytes, kKeyBytes}; }

bool Fill(AppendOnlyMemtable* table, const std::vector<char>& keys, size_t batch_entries) {
  static const std::string value(128, 'v');
  std::vector<Write> batch(batch_entries);
  for (size_t i = 0; i < kEntries;) {
    for (Write& write : batch) {
      write = Write{.key = KeyAt(keys, i), .sequence = i + 1, .value = value};
      if (++i == kEntries) break;
    }
    if (!table->AppendBatch(batch).ok()) return false;
  }
  return true;
}

// One generation of kEntries puts an iteration; the reset is outside the clock.
void BM_Put(benchmark::State& state) {
  const bool warm = state.range(0) != 0;
  const std::vector<char>& keys = Keys(state.range(1) != 0);
  const auto batch_entries = static_cast<size_t>(state.range(2));
  ChunkPoolOptions pool_options;
  pool_options.cap_bytes = warm ? size_t{256} << 20 : 0;
  ChunkPool pool(pool_options);
  AppendOnlyMemtable table({.pool = &pool});
  const auto fill_and_reset = [&] {
    if (!Fill(&table, keys, batch_entries)) state.SkipWithError("a put failed");
    state.PauseTiming();
    if (!table.ResetWarm().ok()) state.SkipWithError("the reset failed");
    state.ResumeTiming();
  };
  if (warm && (!Fill(&table, keys, batch_entries) || !table.ResetWarm().ok()))
    state.SkipWithError("the warm-up failed");
  const PoolStats before = pool.Stats();
  for (auto _ : state) fill_and_reset();
  const PoolStats after = pool.Stats();
  uint64_t fresh_chunks = 0;
  for (size_t kind = 0; kind < kChunkKindCount; ++kind)
    fresh_chunks += after.fresh_chunks[kind] - before.fresh_chunks[kind];
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kEntries));
  state.counters["fresh_chunks"] =
      benchmark::Counter(static_cast<double>(fresh_chunks), benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_Put)
    ->ArgNames({"warm", "ascending", "batch"})
    ->ArgsProduct({{0, 1}, {0, 1}, {1, 100}})
    ->Unit(benchmark::kMillisecond);

void BM_Get(benchmark::State& state) {
  const std::vector<char>& keys = Keys(state.range(0) != 0);
  AppendOnlyMemtable table;
  if (!Fill(&table, keys, 100)) state.SkipWithError("a put failed");
  std::mt19937_64 random(7);
  for (auto _ : state) benchmark::DoNotOptimize(table.Get(KeyAt(keys, random() % kEntries)));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Get)->ArgName("ascending")->Arg(0)->Arg(1);

// First ordered read and full drain of a new generation; filling is outside the clock.
void BM_SortAndDrain(benchmark::State& state) {
  const std::vector<char>& keys = Keys(state.range(0) != 0);
  AppendOnlyMemtable table;
  for (auto _ : state) {
    state.PauseTiming();
    if (!table.ResetWarm().ok() || !Fill(&table, keys, 100)) state.SkipWithError("the refill failed");
    state.ResumeTiming();
    MemtableIterator it = table.NewIterator({.all_versions = true});
    for (it.SeekToFirst(); it.Valid(); it.Next()) benchmark::DoNotOptimize(it.key());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kEntries));
}
BENCHMARK(BM_SortAndDrain)->ArgName("ascending")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace strongbin
