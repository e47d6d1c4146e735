// The RocksDB face beside RocksDB's skip list, through the public interface of RocksDB, in cases that db_bench has not.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/options.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kValueBytes = 128;
// Entries of 16-byte keys and 128-byte values that fit into a memtable of 64 MiB with either memtable.
constexpr uint64_t kFullEntries = 365'000;

std::string KeyOf(uint64_t number) {
  char key[17];
  std::snprintf(key, sizeof(key), "%016llx", static_cast<unsigned long long>(number));
  return key;
}

// A database that writes nothing to disk while it is measured, removed at the end.
class Database {
 public:
  explicit Database(const std::string& memtable) {
    static int count = 0;
    path_ = (std::filesystem::temp_directory_path() / ("strongbin-bench-" + std::to_string(count++))).string();
    std::filesystem::remove_all(path_);
    rocksdb::Options options;
    options.create_if_missing = true;
    options.avoid_flush_during_shutdown = true;
    options.write_buffer_size = size_t{4} << 30;
    rocksdb::Status status =
        rocksdb::MemTableRepFactory::CreateFromString(rocksdb::ConfigOptions(), memtable, &options.memtable_factory);
    if (status.ok()) status = rocksdb::DB::Open(options, path_, &db_);
    if (!status.ok()) throw std::runtime_error(status.ToString());
    write_.disableWAL = true;
  }
  ~Database() {
    delete db_;
    std::filesystem::remove_all(path_);
  }

  rocksdb::DB* operator->() { return db_; }
  void Put(const std::string& key) {
    if (!db_->Put(write_, key, value_).ok()) throw std::runtime_error("put failed");
  }
  void FillRandom() {
    std::mt19937_64 random(42);
    for (uint64_t i = 0; i < kFullEntries; ++i) Put(KeyOf(random()));
  }

 private:
  std::string path_;
  rocksdb::DB* db_ = nullptr;
  rocksdb::WriteOptions write_;
  const std::string value_ = std::string(kValueBytes, 'v');
};

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The first ordered read of a full memtable that has never been sorted.
void FirstSeek(benchmark::State& state, const std::string& memtable) {
  for ([[maybe_unused]] auto _ : state) {
    Database db(memtable);
    db.FillRandom();
    const std::unique_ptr<rocksdb::Iterator> iterator(db->NewIterator({}));
    const auto start = Clock::now();
    iterator->Seek("8");
    state.SetIterationTime(SecondsSince(start));
  }
}

// One key, overwritten a million times, read at a thousand random old snapshots.
void HotKeyAtOldSnapshots(benchmark::State& state, const std::string& memtable) {
  constexpr int kVersions = 1'000'000, kSnapshots = 1'000;
  Database db(memtable);
  std::mt19937_64 random(42);
  std::vector<const rocksdb::Snapshot*> snapshots;
  for (int i = 0; i < kVersions; ++i) {
    db.Put("counter");
    if (i % (kVersions / kSnapshots) == 0) snapshots.push_back(db->GetSnapshot());
  }
  std::string value;
  for ([[maybe_unused]] auto _ : state) {
    rocksdb::ReadOptions options;
    options.snapshot = snapshots[random() % snapshots.size()];
    if (!db->Get(options, "counter", &value).ok()) state.SkipWithError("lost");
  }
  for (const rocksdb::Snapshot* snapshot : snapshots) db->ReleaseSnapshot(snapshot);
}

// What a write costs while the pool is empty: the first memtable of a process.
void FirstGeneration(benchmark::State& state, const std::string& memtable) {
  for ([[maybe_unused]] auto _ : state) {
    Database db(memtable);
    const auto start = Clock::now();
    db.FillRandom();
    state.SetIterationTime(SecondsSince(start));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kFullEntries));
}

}  // namespace

BENCHMARK_CAPTURE(FirstSeek, skip_list, "skip_list")->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(5);
BENCHMARK_CAPTURE(FirstSeek, strongbin, "strongbin")->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(5);
BENCHMARK_CAPTURE(HotKeyAtOldSnapshots, skip_list, "skip_list");
BENCHMARK_CAPTURE(HotKeyAtOldSnapshots, strongbin, "strongbin");
BENCHMARK_CAPTURE(FirstGeneration, skip_list, "skip_list")->UseManualTime()->Iterations(5);
// pool_cap_bytes=0: nothing is kept, so that every generation is a first one.
BENCHMARK_CAPTURE(FirstGeneration, none, "id=strongbin;pool=own;pool_cap_bytes=0;cold_start=none")
    ->UseManualTime()
    ->Iterations(5);
BENCHMARK_CAPTURE(FirstGeneration, populate, "id=strongbin;pool=own;pool_cap_bytes=0;cold_start=populate")
    ->UseManualTime()
    ->Iterations(5);
BENCHMARK_CAPTURE(FirstGeneration, huge_pages, "id=strongbin;pool=own;pool_cap_bytes=0;cold_start=huge_pages")
    ->UseManualTime()
    ->Iterations(5);
BENCHMARK_CAPTURE(FirstGeneration, auto, "id=strongbin;pool=own;pool_cap_bytes=0;cold_start=auto") -> UseManualTime()
    -> Iterations(5);
