// Ordered reads of the bare memtable: the first one beside a library's sort of the same records, scans between writes,
// and keys whose first bytes are all the same.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
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

enum class Shape : int64_t { kRandom, kAscending, kNearlyAscending, kSharedPrefix, kFewKeys };
constexpr std::array<const char*, 5> kShapeNames = {"random", "ascending", "nearly ascending", "64 shared bytes",
                                                    "100 keys"};

// Keys behind each other, all of one length.
class Keys {
 public:
  static const Keys& Of(Shape shape) {
    static std::array<Keys*, kShapeNames.size()> made{};
    Keys*& keys = made[static_cast<size_t>(shape)];
    if (keys == nullptr) keys = new Keys(shape);
    return *keys;
  }
  std::string_view At(size_t i) const { return {bytes_.data() + i * key_bytes_, key_bytes_}; }

 private:
  explicit Keys(Shape shape) {
    std::mt19937_64 random(42);
    const std::string common(shape == Shape::kSharedPrefix ? 64 : 0, 'p');
    std::vector<std::array<unsigned char, 16>> tails(kEntries);
    for (auto& tail : tails) {
      const uint64_t words[2] = {shape == Shape::kFewKeys ? random() % 100 : random(), 0};
      std::memcpy(tail.data(), words, sizeof(words));
    }
    if (shape == Shape::kAscending || shape == Shape::kNearlyAscending) std::sort(tails.begin(), tails.end());
    if (shape == Shape::kNearlyAscending) {
      for (size_t i = 0; i < kEntries / 100; ++i) std::swap(tails[random() % kEntries], tails[random() % kEntries]);
    }
    key_bytes_ = common.size() + tails[0].size();
    for (const auto& tail : tails) bytes_.append(common).append(tail.begin(), tail.end());
  }

  size_t key_bytes_ = 0;
  std::string bytes_;
};

void SetLabel(benchmark::State* state, int64_t shape) { state->SetLabel(kShapeNames[static_cast<size_t>(shape)]); }

// Keeps all that a generation holds.
ChunkPool* Pool() {
  static ChunkPool* const pool = [] {
    ChunkPoolOptions options;
    options.cap_bytes = size_t{256} << 20;
    return new ChunkPool(options);
  }();
  return pool;
}

bool Fill(AppendOnlyMemtable* table, const Keys& keys) {
  std::vector<Write> batch(kBatch);
  for (size_t i = 0; i < kEntries; i += kBatch) {
    for (size_t j = 0; j < kBatch; ++j) batch[j] = Write{.key = keys.At(i + j), .sequence = i + j + 1};
    if (!table->AppendBatch(batch).ok()) return false;
  }
  return true;
}

// What a library needs for the same records.
void BM_LibrarySort(benchmark::State& state) {
  const Keys& keys = Keys::Of(static_cast<Shape>(state.range(0)));
  std::vector<RunRecord> records(kEntries);
  for (auto _ : state) {
    state.PauseTiming();
    for (size_t i = 0; i < kEntries; ++i) {
      const size_t skip = static_cast<Shape>(state.range(0)) == Shape::kSharedPrefix ? 64 : 0;
      records[i] = KeyOrder<EntryFace>::MakeRecord(keys.At(i), static_cast<uint32_t>(i), skip);
    }
    state.ResumeTiming();
    SortByBits(records.data(), kEntries);
  }
  SetLabel(&state, state.range(0));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kEntries));
}
BENCHMARK(BM_LibrarySort)->DenseRange(0, 4)->Unit(benchmark::kMillisecond);

void BM_FirstSeek(benchmark::State& state) {
  const Keys& keys = Keys::Of(static_cast<Shape>(state.range(0)));
  AppendOnlyMemtable table({.pool = Pool()});
  for (auto _ : state) {
    state.PauseTiming();
    if (!table.ResetWarm().ok() || !Fill(&table, keys)) state.SkipWithError("the refill failed");
    table.Freeze();
    state.ResumeTiming();
    MemtableIterator it = table.NewIterator({.all_versions = true});
    it.SeekToFirst();
    benchmark::DoNotOptimize(it.key());
  }
  SetLabel(&state, state.range(0));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kEntries));
}
// A number of rounds, since an ascending table has nothing to sort and a round is little but its filling.
BENCHMARK(BM_FirstSeek)->DenseRange(0, 4)->Iterations(10)->Unit(benchmark::kMillisecond);

// All keys in order, after the sort.
void BM_Drain(benchmark::State& state) {
  AppendOnlyMemtable table({.pool = Pool()});
  if (!Fill(&table, Keys::Of(static_cast<Shape>(state.range(0))))) state.SkipWithError("the fill failed");
  MemtableIterator it = table.NewIterator({.all_versions = true});
  it.SeekToFirst();
  for (auto _ : state) {
    for (it.SeekToFirst(); it.Valid(); it.Next()) benchmark::DoNotOptimize(it.key());
  }
  SetLabel(&state, state.range(0));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kEntries));
}
BENCHMARK(BM_Drain)->DenseRange(0, 4)->Unit(benchmark::kMillisecond);

// A put, and a scan of 100 keys that must see it.
void BM_PutAndScan(benchmark::State& state) {
  const Keys& keys = Keys::Of(Shape::kRandom);
  AppendOnlyMemtable table({.pool = Pool()});
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
    it.Seek(keys.At(random() % kEntries));
    for (int i = 0; i < 100 && it.Valid(); ++i, it.Next()) benchmark::DoNotOptimize(it.key());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PutAndScan)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace strongbin
