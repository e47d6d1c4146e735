// What keys that are chosen against the memtable cost beside random keys of the same length: none may be more than
// three times slower. Compare the lines of one operation.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/hostile_keys.h"

namespace strongbin {
namespace {

constexpr size_t kKeys = 100'000;

const std::vector<KeySet>& Sets() {
  static const auto* const sets = new std::vector<KeySet>(HostileKeySets(kKeys));
  return *sets;
}

bool Fill(AppendOnlyMemtable* table, const KeySet& set) {
  Sequence sequence = 0;
  for (const std::string& key : set.keys) {
    if (!table->Put(key, ++sequence, "value").ok()) return false;
  }
  return true;
}

void BM_Put(benchmark::State& state, const KeySet& set) {
  ChunkPool pool;
  AppendOnlyMemtable table({.pool = &pool});
  for (auto _ : state) {
    if (!table.ResetWarm().ok() || !Fill(&table, set)) state.SkipWithError("refused");
  }
  state.SetItemsProcessed(state.iterations() * int64_t{kKeys});
}

void BM_Get(benchmark::State& state, const KeySet& set) {
  ChunkPool pool;
  AppendOnlyMemtable table({.pool = &pool});
  if (!Fill(&table, set)) state.SkipWithError("refused");
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(table.Get(set.keys[i++ % kKeys]));
  state.SetItemsProcessed(state.iterations());
}

void BM_FirstSeekAndDrain(benchmark::State& state, const KeySet& set) {
  ChunkPool pool;
  AppendOnlyMemtable table({.pool = &pool});
  for (auto _ : state) {
    state.PauseTiming();
    if (!table.ResetWarm().ok() || !Fill(&table, set)) state.SkipWithError("refused");
    state.ResumeTiming();
    MemtableIterator iterator = table.NewIterator();
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) benchmark::DoNotOptimize(iterator.key().data());
  }
  state.SetItemsProcessed(state.iterations() * int64_t{kKeys});
}

void BM_Seek(benchmark::State& state, const KeySet& set) {
  ChunkPool pool;
  AppendOnlyMemtable table({.pool = &pool});
  if (!Fill(&table, set)) state.SkipWithError("refused");
  MemtableIterator iterator = table.NewIterator();
  size_t i = 0;
  for (auto _ : state) {
    iterator.Seek(set.keys[i++ % kKeys]);
    benchmark::DoNotOptimize(iterator.Valid());
  }
  state.SetItemsProcessed(state.iterations());
}

const bool kRegistered = [] {
  using Body = void (*)(benchmark::State&, const KeySet&);
  const std::vector<std::pair<std::string, Body>> operations = {
      {"put", BM_Put}, {"get", BM_Get}, {"first_seek_and_drain", BM_FirstSeekAndDrain}, {"seek", BM_Seek}};
  for (const auto& [operation, body] : operations) {
    for (const KeySet& set : Sets()) {
      benchmark::RegisterBenchmark((operation + "/" + set.name).c_str(),
                                   [body = body, &set](benchmark::State& state) { body(state, set); });
    }
  }
  return true;
}();

}  // namespace
}  // namespace strongbin
