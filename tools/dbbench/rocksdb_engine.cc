#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/listener.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/utilities/object_registry.h>
#include <rocksdb/write_batch.h>

#include "strongbin/memtable/rocksdb/rep_factory.h"
#include "strongbin/memtable/rocksdb/rep_stats.h"
#include "strongbin/stats/export.h"
#include "strongbin/tools/dbbench/engine.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/measure.h"
#include "strongbin/tools/dbbench/pool_numbers.h"
#include "strongbin/tools/dbbench/rocksdb_options.h"

namespace strongbin::dbbench {
namespace {

constexpr int kWriteBuffers = 64;
constexpr size_t kPrefixBytes = 7;
constexpr size_t kMinHashTableBytes = size_t{16} << 20;
// What an entry takes in a memtable beside its key and value, rounded up, for a memtable that must hold everything.
constexpr size_t kEntryOverheadBytes = 128;

rocksdb::Slice ToSlice(std::string_view view) { return {view.data(), view.size()}; }
std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

rocksdb::Status MakeFactory(std::string_view id, std::shared_ptr<rocksdb::MemTableRepFactory>* factory) {
  return rocksdb::MemTableRepFactory::CreateFromString(rocksdb::ConfigOptions(), std::string(id), factory);
}

bool WantsPrefix(const rocksdb::MemTableRepFactory& factory) {
  return std::string_view(factory.Name()).starts_with("Hash");
}

// Our factory, with or without options of its own.
bool IsOurs(std::string_view factory) {
  return factory == kRocksDBFactoryName || factory.starts_with("id=" + std::string(kRocksDBFactoryName) + ";");
}

// Named without options our factory gets those of the command line.
std::string FactoryIdOf(std::string_view factory, const Config& config) {
  std::string id(factory);
  if (factory != kRocksDBFactoryName) return id;
  return "id=" + id + ";pool_cap_bytes=" + std::to_string(config.pool_cap_bytes) +
         ";cold_start=" + (config.huge_pages ? "auto" : "none");
}

// Learns how many entries a full memtable held. RocksDB calls it from any thread.
class SealCounter final : public rocksdb::EventListener {
 public:
  void OnMemTableSealed(const rocksdb::MemTableInfo& info) override {
    tables.fetch_add(1, std::memory_order_relaxed);  // numbers to look at once writers have been joined
    entries.fetch_add(info.num_entries, std::memory_order_relaxed);
  }
  std::atomic<uint64_t> tables{0};
  std::atomic<uint64_t> entries{0};
};

// A RocksDB in a folder of its own, made for each round and deleted after it.
class RocksDbEngine final : public Engine {
 public:
  RocksDbEngine(std::string_view factory, const Config& config, const std::string& directory)
      : factory_id_(FactoryIdOf(factory, config)), config_(config), directory_(directory), ours_(IsOurs(factory)) {
    std::shared_ptr<rocksdb::MemTableRepFactory> made;
    if (MakeFactory(factory_id_, &made).ok()) {
      concurrent_ = made->IsInsertConcurrentlySupported();
      prefix_ = WantsPrefix(*made);
    }
  }
  ~RocksDbEngine() override { RocksDbEngine::Close(); }

  bool Open(const RoundPlan& plan) override;
  bool Write(size_t worker, const Batch& batch) override;
  bool Get(size_t worker, std::string_view key, std::string_view* value) override;
  bool OpenScan(size_t worker, std::string_view start, std::string_view end) override;
  uint64_t AdvanceScan(size_t worker, uint64_t count, ContentSum* sum) override;
  void CloseScan(size_t worker) override { workers_[worker].iterator.reset(); }
  bool FinishWrites() override;
  bool Close() override;
  void Checkpoint() override;
  EngineNumbers Numbers() override;
  std::string Description() const override;
  std::string PoolText() const override { return ours_ ? ToText(Stats().pool) : std::string(); }
  std::string PoolJson() const override { return ours_ ? ToJson(Stats().pool) : std::string(); }
  std::optional<PoolGauges> ReadGauges() const override {
    return ours_ ? std::optional(GaugesOf(Stats().pool)) : std::nullopt;
  }

 private:
  struct alignas(64) Worker {
    rocksdb::WriteBatch batch;
    rocksdb::PinnableSlice value;
    rocksdb::Slice end;
    std::unique_ptr<rocksdb::Iterator> iterator;
  };

  rocksdb::Options MakeOptions();
  rocksdb::ReadOptions ScanOptions() const {
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    return options;
  }
  bool Check(const rocksdb::Status& status) { return status.ok() || Fail("RocksDB: " + status.ToString()); }
  void CountTables();
  bool DrainInto(Ledger* ledger);

  const std::string factory_id_;
  const Config& config_;
  const std::string directory_;
  const bool ours_;
  bool concurrent_ = false;
  bool prefix_ = false;
  RoundPlan plan_;
  rocksdb::WriteOptions write_options_;
  std::shared_ptr<SealCounter> seals_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<Worker> workers_;
  EngineNumbers numbers_;
  PoolStats pool_at_open_;
};

rocksdb::Options RocksDbEngine::MakeOptions() {
  rocksdb::Options options = QuietRocksDbOptions();
  options.error_if_exists = true;
  options.write_buffer_size = config_.memtable_bytes;
  if (plan_.hold_all) {
    const size_t entry_bytes = config_.key_bytes + config_.value_bytes + kEntryOverheadBytes;
    options.write_buffer_size =
        std::max(config_.memtable_bytes, static_cast<size_t>(plan_.entries + 1) * entry_bytes * 3 / 2);
  }
  options.max_write_buffer_number = kWriteBuffers;
  options.allow_concurrent_memtable_write = concurrent_;
  if (prefix_)
    options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(std::min(kPrefixBytes, config_.key_bytes)));
  seals_ = std::make_shared<SealCounter>();
  options.listeners.push_back(seals_);
  return options;
}

bool RocksDbEngine::Open(const RoundPlan& plan) {
  plan_ = plan;
  numbers_ = {};
  if (ours_) pool_at_open_ = Stats().pool;
  if (prefix_ && config_.memtable_bytes < kMinHashTableBytes) {
    return Fail("--memtable_bytes must be at least " + Bytes(kMinHashTableBytes) +
                ": RocksDB's table of hash buckets does not fit otherwise, and its assertions end the process");
  }
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) return Fail("cannot make " + directory_ + ": " + error.message());
  rocksdb::Options options = MakeOptions();
  if (!Check(MakeFactory(factory_id_, &options.memtable_factory))) return false;
  write_options_.disableWAL = config_.profile == Profile::kFast;
  write_options_.sync = config_.profile == Profile::kDurable;
  workers_ = std::vector<Worker>(plan.threads);
  rocksdb::DB* db = nullptr;
  if (!Check(rocksdb::DB::Open(options, directory_ + "/db", &db))) return false;
  db_.reset(db);
  return true;
}

bool RocksDbEngine::Write(size_t worker, const Batch& batch) {
  rocksdb::WriteBatch& writes = workers_[worker].batch;
  writes.Clear();
  for (size_t i = 0; i < batch.count; ++i) {
    if (!Check(writes.Put(ToSlice(batch.Key(i)), ToSlice(batch.Value(i))))) return false;
  }
  return Check(db_->Write(write_options_, &writes));
}

bool RocksDbEngine::Get(size_t worker, std::string_view key, std::string_view* value) {
  rocksdb::PinnableSlice& found = workers_[worker].value;
  found.Reset();
  const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), ToSlice(key), &found);
  if (status.IsNotFound()) return false;
  *value = ToView(found);
  return Check(status);
}

bool RocksDbEngine::OpenScan(size_t worker, std::string_view start, std::string_view end) {
  Worker& own = workers_[worker];
  own.end = ToSlice(end);
  rocksdb::ReadOptions options = ScanOptions();
  if (!end.empty()) options.iterate_upper_bound = &own.end;
  own.iterator.reset(db_->NewIterator(options));
  own.iterator->Seek(ToSlice(start));
  return Check(own.iterator->status());
}

uint64_t RocksDbEngine::AdvanceScan(size_t worker, uint64_t count, ContentSum* sum) {
  rocksdb::Iterator& iterator = *workers_[worker].iterator;
  uint64_t read = 0;
  for (; read < count && iterator.Valid(); ++read) {
    sum->Add(ToView(iterator.key()), ToView(iterator.value()));
    iterator.Next();
  }
  if (!iterator.Valid()) Check(iterator.status());
  return read;
}

void RocksDbEngine::CountTables() {
  uint64_t bytes = 0;
  uint64_t entries = 0;
  db_->GetIntProperty(rocksdb::DB::Properties::kCurSizeActiveMemTable, &bytes);
  db_->GetIntProperty(rocksdb::DB::Properties::kNumEntriesActiveMemTable, &entries);
  // A sealed table was as large as the bound; only without one does the active table have to speak for itself.
  const uint64_t sealed = seals_->tables.load(std::memory_order_relaxed);
  const uint64_t sealed_entries = seals_->entries.load(std::memory_order_relaxed);
  numbers_.tables = sealed + (entries > 0 ? 1 : 0);
  if (sealed_entries > 0) {
    bytes = sealed * config_.memtable_bytes;
    entries = sealed_entries;
  }
  if (entries > 0) numbers_.table_bytes_per_entry = static_cast<double>(bytes) / static_cast<double>(entries);
}

bool RocksDbEngine::FinishWrites() {
  CountTables();
  const uint64_t faults = SampleProcess().minor_faults;
  const uint64_t start_ns = NowNs();
  if (!Check(db_->Flush(rocksdb::FlushOptions()))) return false;
  numbers_.drain_ns = NowNs() - start_ns;
  numbers_.drain_faults = SampleProcess().minor_faults - faults;
  return plan_.ledger == nullptr || DrainInto(plan_.ledger);
}

// Reads the database back, outside every clock.
bool RocksDbEngine::DrainInto(Ledger* ledger) {
  rocksdb::ReadOptions options = ScanOptions();
  options.fill_cache = false;
  options.readahead_size = size_t{1} << 20;
  const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(options));
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    ledger->Add(ToView(iterator->key()), ToView(iterator->value()));
  }
  return Check(iterator->status());
}

bool RocksDbEngine::Close() {
  workers_.clear();
  if (db_ == nullptr) return true;
  db_.reset();
  std::error_code error;
  std::filesystem::remove_all(directory_ + "/db", error);
  return !error || Fail("cannot delete " + directory_ + "/db: " + error.message());
}

// Between tests the database of the last round is closed, so its flushes are done and its caches are gone.
void RocksDbEngine::Checkpoint() { RelieveMemoryPressure(); }

EngineNumbers RocksDbEngine::Numbers() {
  if (db_ != nullptr && numbers_.tables == 0) CountTables();
  if (ours_) numbers_.pool = NumbersOf(pool_at_open_, Stats().pool);
  return numbers_;
}

std::string RocksDbEngine::Description() const {
  std::string text =
      "RocksDB memtable factory " + factory_id_ + ", write_buffer_size " + Bytes(config_.memtable_bytes) + ", up to " +
      std::to_string(kWriteBuffers) +
      " write buffers, no compression, no automatic compaction, 8 MiB block cache, concurrent memtable writes " +
      (concurrent_ ? "on" : "off (the factory does not support them)");
  if (prefix_) text += ", prefix of " + std::to_string(std::min(kPrefixBytes, config_.key_bytes)) + " bytes";
  text +=
      config_.profile == Profile::kFast ? ", write-ahead log off" : ", write-ahead log on with fsync for each batch";
  text +=
      "; full memtables are flushed to files by a background thread beside the writes; drain is the wait for the last "
      "flush";
  return text;
}

}  // namespace

std::unique_ptr<Engine> MakeRocksDbEngine(std::string_view factory, const Config& config,
                                          const std::string& directory) {
  return std::make_unique<RocksDbEngine>(factory, config, directory);
}

std::string CheckRocksDbFactory(std::string_view id) {
  std::shared_ptr<rocksdb::MemTableRepFactory> factory;
  const rocksdb::Status status = MakeFactory(id, &factory);
  if (status.ok() && factory != nullptr) return {};
  std::vector<std::string> names;
  rocksdb::ObjectRegistry::NewInstance()->GetFactoryNames(rocksdb::MemTableRepFactory::Type(), &names);
  std::string text = "RocksDB makes no memtable of that name";
  if (!status.ok()) text += " (" + status.ToString() + ")";
  text += "; allowed: skip_list, vector, prefix_hash, hash_linkedlist, and as registered:";
  for (const std::string& name : std::set<std::string>(names.begin(), names.end())) text += " " + name;
  return text;
}

}  // namespace strongbin::dbbench
