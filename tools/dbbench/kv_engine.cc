#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/stats/export.h"
#include "strongbin/tools/dbbench/engine.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/measure.h"
#include "strongbin/tools/dbbench/pool_numbers.h"
#include "strongbin/tools/dbbench/rocksdb_options.h"
#include "strongbin/tools/kv/store.h"

namespace strongbin::dbbench {
namespace {

constexpr size_t kNeverFull = ~size_t{0};

// The store of tools/kv over a pool of its own, made for each round in a folder that is deleted after it.
class KvEngine final : public Engine {
 public:
  KvEngine(const Config& config, const std::string& directory)
      : config_(config), directory_(directory + "/kv"), pool_(PoolOptionsOf(config)) {}
  ~KvEngine() override { KvEngine::Close(); }

  bool Open(const RoundPlan& plan) override;
  bool Write(size_t worker, const Batch& batch) override;
  bool Get(size_t worker, std::string_view key, std::string_view* value) override;
  bool OpenScan(size_t worker, std::string_view start, std::string_view end) override;
  uint64_t AdvanceScan(size_t worker, uint64_t count, ContentSum* sum) override;
  void CloseScan(size_t worker) override { workers_[worker].iterator.reset(); }
  bool FinishWrites() override;
  bool Close() override;
  void Checkpoint() override { pool_.OnMemoryPressure(); }
  EngineNumbers Numbers() override;
  std::string Description() const override;
  std::string PoolText() const override { return ToText(pool_.Stats()); }
  std::string PoolJson() const override { return ToJson(pool_.Stats()); }
  std::optional<PoolGauges> ReadGauges() const override { return GaugesOf(pool_.Stats()); }

 private:
  struct alignas(64) Worker {
    kv::Batch batch;
    std::string value;
    std::string_view end;
    std::unique_ptr<kv::MergedIterator> iterator;
  };

  bool Check(const rocksdb::Status& status) { return status.ok() || Fail("kv: " + status.ToString()); }

  const Config& config_;
  const std::string directory_;
  ChunkPool pool_;
  RoundPlan plan_;
  std::unique_ptr<kv::Store> store_;
  std::vector<Worker> workers_;
  EngineNumbers numbers_;
  PoolStats pool_at_open_;
};

bool KvEngine::Open(const RoundPlan& plan) {
  plan_ = plan;
  numbers_ = {};
  pool_at_open_ = pool_.Stats();
  workers_ = std::vector<Worker>(plan.threads);
  kv::Options options;
  options.directory = directory_;
  options.pool = &pool_;
  options.table_bytes = plan.hold_all ? kNeverFull : config_.memtable_bytes;
  options.log = config_.profile == Profile::kDurable ? kv::LogMode::kSynced : kv::LogMode::kNone;
  options.rest = QuietRocksDbOptions();
  return Check(kv::Store::Open(options, &store_));
}

bool KvEngine::Write(size_t worker, const Batch& batch) {
  kv::Batch& writes = workers_[worker].batch;
  writes.Clear();
  for (size_t i = 0; i < batch.count; ++i) writes.Put(batch.Key(i), batch.Value(i));
  return Check(store_->Write(writes));
}

bool KvEngine::Get(size_t worker, std::string_view key, std::string_view* value) {
  std::string& found = workers_[worker].value;
  const rocksdb::Status status = store_->Get(key, &found);
  if (status.IsNotFound()) return false;
  *value = found;
  return Check(status);
}

bool KvEngine::OpenScan(size_t worker, std::string_view start, std::string_view end) {
  Worker& own = workers_[worker];
  own.end = end;
  own.iterator = store_->NewIterator();
  own.iterator->Seek(start);
  return Check(own.iterator->status());
}

uint64_t KvEngine::AdvanceScan(size_t worker, uint64_t count, ContentSum* sum) {
  const Worker& own = workers_[worker];
  kv::MergedIterator& iterator = *own.iterator;
  uint64_t read = 0;
  for (; read < count && iterator.Valid() && (own.end.empty() || iterator.key() < own.end); ++read) {
    sum->Add(iterator.key(), iterator.value());
    iterator.Next();
  }
  if (!iterator.Valid()) Check(iterator.status());
  return read;
}

bool KvEngine::FinishWrites() {
  const uint64_t faults = SampleProcess().minor_faults;
  const uint64_t start_ns = NowNs();
  if (!Check(store_->Flush())) return false;
  numbers_.drain_ns = NowNs() - start_ns;
  numbers_.drain_faults = SampleProcess().minor_faults - faults;
  if (plan_.ledger == nullptr) return true;
  // Reads the store back, outside every clock.
  const std::unique_ptr<kv::MergedIterator> iterator = store_->NewIterator();
  for (iterator->Seek({}); iterator->Valid(); iterator->Next()) plan_.ledger->Add(iterator->key(), iterator->value());
  return Check(iterator->status());
}

bool KvEngine::Close() {
  workers_.clear();
  if (store_ == nullptr) return true;
  store_.reset();
  std::error_code error;
  std::filesystem::remove_all(directory_, error);
  return !error || Fail("cannot delete " + directory_ + ": " + error.message());
}

EngineNumbers KvEngine::Numbers() {
  EngineNumbers numbers = numbers_;
  if (store_ != nullptr) {
    const kv::Store::Counts counts = store_->FlushedTables();
    numbers.tables = counts.tables;
    if (counts.entries > 0) {
      numbers.table_bytes_per_entry = static_cast<double>(counts.table_bytes) / static_cast<double>(counts.entries);
    }
  }
  numbers.pool = NumbersOf(pool_at_open_, pool_.Stats());
  return numbers;
}

std::string KvEngine::Description() const {
  std::string text = "the store of tools/kv: the bare component, full at " + Bytes(config_.memtable_bytes) + ", " +
                     DescribePool(config_) + ", flushed through files that a RocksDB takes in";
  text +=
      config_.profile == Profile::kFast ? ", write-ahead log off" : ", write-ahead log on with fsync for each batch";
  return text +
         "; a thread beside the writes flushes full tables, up to four wait for it; writers take turns; drain is the "
         "wait for the last flush";
}

}  // namespace

std::unique_ptr<Engine> MakeKvEngine(const Config& config, const std::string& directory) {
  return std::make_unique<KvEngine>(config, directory);
}

}  // namespace strongbin::dbbench
