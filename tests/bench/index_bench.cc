// Point writes and reads of the memtable beside other structures for the same keys: docs/decisions/lookup_index.md.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <benchmark/benchmark.h>

#include "strongbin/memtable/append_only_memtable.h"

namespace strongbin {
namespace {

constexpr uint64_t kKeys = 1'000'000;

// 16 bytes, in no order.
std::string KeyOf(uint64_t i) {
  const uint64_t words[2] = {i * 0x9e3779b97f4a7c15, (i ^ 0x5bd1e995) * 0xc2b2ae3d27d4eb4f};
  std::string key(sizeof(words), '\0');
  std::memcpy(key.data(), words, sizeof(words));
  return key;
}

template <bool kWarm>
struct Memtable {
  void Put(std::string_view key, uint64_t sequence) { benchmark::DoNotOptimize(table.Put(key, sequence, {}).ok()); }
  bool Has(const std::string& key) const { return table.Get(key).found(); }
  // Warm: from the second table on all memory has been used before.
  static ChunkPool* Pool() {
    static ChunkPool* const pool = new ChunkPool({.cap_bytes = kWarm ? size_t{256} << 20 : 0});
    return pool;
  }
  AppendOnlyMemtable table{{.pool = Pool(), .freeze_bytes = SIZE_MAX}};
};

template <class Map>
struct Standard {
  void Put(std::string_view key, uint64_t sequence) { map.emplace(key, sequence); }
  bool Has(const std::string& key) const { return map.find(key) != map.end(); }
  Map map;
};

uint64_t NowNs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

template <class Table>
void BM_PutMillion(benchmark::State& state) {
  uint64_t longest_ns = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto table = std::make_unique<Table>();
    state.ResumeTiming();
    longest_ns = 0;
    uint64_t before = NowNs();
    for (uint64_t i = 0; i < kKeys; ++i) {
      table->Put(KeyOf(i), i);
      const uint64_t after = NowNs();
      longest_ns = std::max(longest_ns, after - before);
      before = after;
    }
    state.PauseTiming();
    table.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kKeys));
  // Of the last round.
  state.counters["longest_us"] = static_cast<double>(longest_ns) / 1000;
}

template <class Table>
void BM_GetRandom(benchmark::State& state) {
  static const Table* const table = [] {
    auto* const filled = new Table;
    for (uint64_t i = 0; i < kKeys; ++i) filled->Put(KeyOf(i), i);
    return filled;
  }();
  uint64_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(table->Has(KeyOf(i)));
    i = (i + 611'953) % kKeys;
  }
}

using Warm = Memtable<true>;
using Cold = Memtable<false>;
using HashMap = Standard<std::unordered_map<std::string, uint64_t>>;
using Tree = Standard<std::map<std::string, uint64_t>>;
BENCHMARK(BM_PutMillion<Cold>)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_PutMillion<Warm>)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_PutMillion<HashMap>)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_PutMillion<Tree>)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_GetRandom<Warm>);
BENCHMARK(BM_GetRandom<HashMap>);
BENCHMARK(BM_GetRandom<Tree>);

}  // namespace
}  // namespace strongbin
