// Ordered reads of the bare memtable: the first one beside a library's sort of the same records, scans between writes,
// and keys whose first bytes are all the same.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/memtable/key_order.h"
#include "strongbin/memtable/record_sort.h"

namespace strongbin {
namespace {

constexpr size_t kEntries = 1'000'000;
constexpr size_t kBatch = 100;

enum class Shape : int64_t {
  kRandom,
  kAscending,
  kNearlyAscending,
  kSharedPrefix,
  kFewKeys,
  kSharedEight,
  kNumberedStarts,
  kStarts
};
constexpr std::array<const char*, 8> kShapeNames = {
    "random",   "ascending",      "nearly ascending",        "64 shared bytes",
    "100 keys", "8 shared bytes", "1,000 numbers and tails", "1,000 starts and tails"};

// Keys behind each other, all of one length.
class Keys {
 public:
  // The shape is a benchmark's first argument, the count its second.
  static const Keys& Of(const benchmark::State& state) {
    static std::map<std::pair<int64_t, int64_t>, std::unique_ptr<Keys>> made;
    std::unique_ptr<Keys>& keys = made[{state.range(0), state.range(1)}];
    if (keys == nullptr) {
      keys.reset(new Keys(static_cast<Shape>(state.range(0)), static_cast<size_t>(state.range(1))));
    }
    return *keys;
  }
  size_t count() const { return bytes_.size() / key_bytes_; }
  size_t shared_bytes() const { return key_bytes_ - sizeof(Tail); }
  std::string_view At(size_t i) const { return {bytes_.data() + i * key_bytes_, key_bytes_}; }

 private:
  using Tail = std::array<unsigned char, 16>;

  Keys(Shape shape, size_t count) {
    std::mt19937_64 random(42);
    const std::string shared(shape == Shape::kSharedPrefix ? 64 : shape == Shape::kSharedEight ? 8 : 0, 'p');
    std::vector<uint64_t> starts(1'000);
    std::generate(starts.begin(), starts.end(), std::ref(random));
    std::vector<Tail> tails(count);
    for (Tail& tail : tails) {
      uint64_t words[2] = {random(), 0};
      if (shape == Shape::kFewKeys) words[0] %= 100;
      if (shape == Shape::kNumberedStarts) words[0] %= 1'000;
      if (shape == Shape::kStarts) words[0] = starts[words[0] % starts.size()];
      if (shape == Shape::kNumberedStarts || shape == Shape::kStarts) words[1] = random();
      std::memcpy(tail.data(), words, sizeof(words));
    }
    if (shape == Shape::kAscending || shape == Shape::kNearlyAscending) std::sort(tails.begin(), tails.end());
    if (shape == Shape::kNearlyAscending) {
      for (size_t i = 0; i < count / 100; ++i) std::swap(tails[random() % count], tails[random() % count]);
    }
    key_bytes_ = shared.size() + sizeof(Tail);
    bytes_.reserve(count * key_bytes_);
    for (const Tail& tail : tails) bytes_.append(shared).append(tail.begin(), tail.end());
  }

  size_t key_bytes_ = 0;
  std::string bytes_;
};

void Report(benchmark::State* state) {
  state->SetLabel(kShapeNames[static_cast<size_t>(state->range(0))]);
  state->SetItemsProcessed(state->iterations() * state->range(1));
}
// All shapes of a million keys.
void AllShapes(benchmark::internal::Benchmark* benchmark) {
  for (size_t shape = 0; shape < kShapeNames.size(); ++shape) {
    benchmark->Args({static_cast<int64_t>(shape), static_cast<int64_t>(kEntries)});
  }
}
// Those that differ in what the sort does with them, at other sizes.
void OtherSizes(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t count : {1'000, 10'000, 100'000, 10'000'000}) {
    for (const Shape shape : {Shape::kRandom, Shape::kNearlyAscending, Shape::kFewKeys}) {
      benchmark->Args({static_cast<int64_t>(shape), count});
    }
  }
}

// Keeps all that a generation holds.
ChunkPool* Pool() {
  static ChunkPool* const pool = [] {
    ChunkPoolOptions options;
    options.cap_bytes = size_t{2} << 30;
    return new ChunkPool(options);
  }();
  return pool;
}

bool Fill(AppendOnlyMemtable* table, const Keys& keys) {
  std::vector<Write> batch(kBatch);
  for (size_t i = 0; i < keys.count(); i += kBatch) {
    for (size_t j = 0; j < kBatch; ++j) batch[j] = Write{.key = keys.At(i + j), .sequence = i + j + 1};
    if (!table->AppendBatch(batch).ok()) return false;
  }
  return true;
}

// What a library needs for the same records.
void BM_LibrarySort(benchmark::State& state) {
  const Keys& keys = Keys::Of(state);
  std::vector<RunRecord> records(keys.count());
  for (auto _ : state) {
    state.PauseTiming();
    for (size_t i = 0; i < keys.count(); ++i) {
      records[i] = KeyOrder<EntryFace>::MakeRecord(keys.At(i), static_cast<uint32_t>(i), keys.shared_bytes());
    }
    state.ResumeTiming();
    SortByBits(records.data(), records.size());
  }
  Report(&state);
}
BENCHMARK(BM_LibrarySort)->Apply(AllShapes)->Apply(OtherSizes)->Unit(benchmark::kMillisecond);

void BM_FirstSeek(benchmark::State& state) {
  const Keys& keys = Keys::Of(state);
  AppendOnlyMemtable table({.pool = Pool(), .freeze_bytes = size_t{4} << 30});
  for (auto _ : state) {
    state.PauseTiming();
    if (!table.ResetWarm().ok() || !Fill(&table, keys)) state.SkipWithError("the refill failed");
    table.Freeze();
    state.ResumeTiming();
    MemtableIterator it = table.NewIterator({.all_versions = true});
    it.SeekToFirst();
    benchmark::DoNotOptimize(it.key());
  }
  Report(&state);
}
// A number of rounds, since an ascending table has nothing to sort and a round is little but its filling.
BENCHMARK(BM_FirstSeek)->Apply(AllShapes)->Apply(OtherSizes)->Iterations(10)->Unit(benchmark::kMillisecond);

// All keys in order, after the sort.
void BM_Drain(benchmark::State& state) {
  AppendOnlyMemtable table({.pool = Pool(), .freeze_bytes = size_t{4} << 30});
  if (!Fill(&table, Keys::Of(state))) state.SkipWithError("the fill failed");
  MemtableIterator it = table.NewIterator({.all_versions = true});
  it.SeekToFirst();
  for (auto _ : state) {
    for (it.SeekToFirst(); it.Valid(); it.Next()) benchmark::DoNotOptimize(it.key());
  }
  Report(&state);
}
BENCHMARK(BM_Drain)->Apply(AllShapes)->Unit(benchmark::kMillisecond);

// A put, and a scan of 100 keys that must see it.
void BM_PutAndScan(benchmark::State& state) {
  const Keys& keys = Keys::Of(state);
  AppendOnlyMemtable table({.pool = Pool(), .freeze_bytes = size_t{4} << 30});
  if (!Fill(&table, keys)) state.SkipWithError("the fill failed");
  table.NewIterator().SeekToFirst();
  std::mt19937_64 random(7);
  Sequence sequence = kEntries;
  for (auto _ : state) {
    std::array<char, 16> key{};
    const uint64_t word = random();
    std::memcpy(key.data(), &word, sizeof(word));
    if (!table.Put({key.data(), key.size()}, ++sequence, "").ok()) state.SkipWithError("a put failed");
    MemtableIterator it = table.NewIterator();
    it.Seek(keys.At(random() % keys.count()));
    for (int i = 0; i < 100 && it.Valid(); ++i, it.Next()) benchmark::DoNotOptimize(it.key());
  }
  state.SetLabel(kShapeNames[static_cast<size_t>(state.range(0))]);
}
BENCHMARK(BM_PutAndScan)
    ->Args({static_cast<int64_t>(Shape::kRandom), static_cast<int64_t>(kEntries)})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace strongbin
