#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/memtable/memtable_iterator.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/stats/export.h"
#include "strongbin/tools/dbbench/engine.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/measure.h"
#include "strongbin/tools/dbbench/pool_numbers.h"

namespace strongbin::dbbench {
namespace {

constexpr size_t kNeverFreeze = ~size_t{0};

// The bare component: one table at a time over a pool of its own, turned over when it is full.
class MemtableEngine final : public Engine {
 public:
  explicit MemtableEngine(const Config& config) : config_(config), pool_(PoolOptionsOf(config)) {}
  ~MemtableEngine() override { workers_.clear(); }

  bool Open(const RoundPlan& plan) override;
  void Admit(size_t worker) override;
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
  std::string PoolText() const override { return ToText(pool_.Stats()); }
  std::string PoolJson() const override { return ToJson(pool_.Stats()); }
  std::optional<PoolGauges> ReadGauges() const override { return GaugesOf(pool_.Stats()); }

 private:
  struct alignas(64) Worker {
    std::vector<strongbin::Write> writes;
    std::optional<MemtableIterator> iterator;
  };

  bool Check(Status status) { return status.ok() || Fail("memtable: " + std::string(status.message())); }
  bool Append(Worker& own, const Batch& batch);
  // Freeze, ordered drain, warm reset. Nobody else uses the table meanwhile.
  bool TurnOver();
  bool Drain();

  const Config& config_;
  ChunkPool pool_;
  RoundPlan plan_;
  std::unique_ptr<AppendOnlyMemtable> table_;
  std::vector<Worker> workers_;
  // Each batch is an addition; relaxed, since threads write different keys and readers start after writers are joined.
  std::atomic<Sequence> sequence_{0};
  // Shared by writers, exclusive for a turnover; unused with one thread.
  std::shared_mutex turnover_mutex_;
  EngineNumbers numbers_;
  PoolStats pool_at_open_;
  uint64_t drained_entries_ = 0;
  uint64_t drained_table_bytes_ = 0;
};

bool MemtableEngine::Open(const RoundPlan& plan) {
  const bool same_table = table_ != nullptr && plan.hold_all == plan_.hold_all && plan.threads == plan_.threads;
  plan_ = plan;
  numbers_ = {};
  drained_entries_ = drained_table_bytes_ = 0;
  pool_at_open_ = pool_.Stats();
  workers_ = std::vector<Worker>(plan.threads);
  if (same_table) return true;
  MemtableOptions options;
  options.pool = &pool_;
  options.freeze_bytes = plan.hold_all ? kNeverFreeze : config_.memtable_bytes;
  options.concurrent_writers = plan.threads > 1;
  table_ = std::make_unique<AppendOnlyMemtable>(options);
  return true;
}

void MemtableEngine::Admit(size_t) {
  if (!table_->ShouldFreeze()) return;
  std::unique_lock lock(turnover_mutex_, std::defer_lock);
  if (plan_.threads > 1) lock.lock();
  if (!table_->ShouldFreeze()) return;  // another worker was first
  const uint64_t start_ns = NowNs();
  TurnOver();
  numbers_.paused_ns += NowNs() - start_ns;
}

bool MemtableEngine::Append(Worker& own, const Batch& batch) {
  // Relaxed: see sequence_.
  const Sequence first = sequence_.fetch_add(batch.count, std::memory_order_relaxed) + 1;
  if (batch.count == 1) return Check(table_->Put(batch.Key(0), first, batch.Value(0)));
  own.writes.resize(batch.count);
  for (size_t i = 0; i < batch.count; ++i) {
    strongbin::Write& write = own.writes[i];
    write.key = batch.Key(i);
    write.sequence = first + i;
    write.value = batch.Value(i);
  }
  return Check(batch.ascending ? table_->AppendSortedBatch(own.writes) : table_->AppendBatch(own.writes));
}

bool MemtableEngine::Write(size_t worker, const Batch& batch) {
  if (plan_.threads == 1) return Append(workers_[worker], batch);
  std::shared_lock lock(turnover_mutex_);
  return Append(workers_[worker], batch);
}

bool MemtableEngine::Get(size_t, std::string_view key, std::string_view* value) {
  const LookupResult result = table_->Get(key);
  if (!result.found()) return result.status == Status::Code::kNotFound ? false : Check(result.status);
  *value = result.value;
  return true;
}

bool MemtableEngine::OpenScan(size_t worker, std::string_view start, std::string_view end) {
  ReadOptions options;
  if (!end.empty()) options.upper_bound = end;  // an empty view that points somewhere would be a bound
  std::optional<MemtableIterator>& iterator = workers_[worker].iterator;
  iterator.emplace(table_->NewIterator(options));
  iterator->Seek(start);
  return Check(iterator->status());
}

uint64_t MemtableEngine::AdvanceScan(size_t worker, uint64_t count, ContentSum* sum) {
  MemtableIterator& iterator = *workers_[worker].iterator;
  uint64_t read = 0;
  for (; read < count && iterator.Valid(); ++read) {
    sum->Add(iterator.key(), iterator.value());
    iterator.Next();
  }
  if (!iterator.Valid()) Check(iterator.status());
  return read;
}

bool MemtableEngine::Drain() {
  MemtableIterator iterator = table_->NewIterator();
  for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
    if (plan_.ledger != nullptr) plan_.ledger->Add(iterator.key(), iterator.value());
  }
  return Check(iterator.status());
}

bool MemtableEngine::TurnOver() {
  ++numbers_.tables;
  drained_entries_ += table_->entry_count();
  drained_table_bytes_ += table_->MemoryUsage();
  const uint64_t faults = SampleProcess().minor_faults;
  const uint64_t start_ns = NowNs();
  table_->Freeze();
  const bool drained = Drain();
  const bool reset = Check(table_->ResetWarm());
  numbers_.drain_ns += NowNs() - start_ns;
  numbers_.drain_faults += SampleProcess().minor_faults - faults;
  return drained && reset;
}

bool MemtableEngine::FinishWrites() { return table_->empty() || TurnOver(); }

bool MemtableEngine::Close() {
  workers_.clear();
  return table_ == nullptr || Check(table_->ResetWarm());
}

void MemtableEngine::Checkpoint() {
  table_.reset();  // and with it what it has learned of its size
  pool_.OnMemoryPressure();
}

EngineNumbers MemtableEngine::Numbers() {
  EngineNumbers numbers = numbers_;
  uint64_t entries = drained_entries_;
  uint64_t bytes = drained_table_bytes_;
  if (!table_->empty()) {
    entries += table_->entry_count();
    bytes += table_->MemoryUsage();
    ++numbers.tables;
  }
  if (entries > 0) numbers.table_bytes_per_entry = static_cast<double>(bytes) / static_cast<double>(entries);
  numbers.pool = NumbersOf(pool_at_open_, pool_.Stats());
  return numbers;
}

std::string MemtableEngine::Description() const {
  std::string text = "the bare component, full at " + Bytes(config_.memtable_bytes) + ", " + DescribePool(config_);
  text += config_.threads > 1 ? ", concurrent writers" : ", one writer";
  return text +
         "; a full table is frozen, drained in order and reset warm by the thread that met it, and writers wait: that "
         "time is the drain, not the write; sorted writes of one thread use the sorted-batch call";
}

}  // namespace

std::unique_ptr<Engine> MakeMemtableEngine(const Config& config) { return std::make_unique<MemtableEngine>(config); }

}  // namespace strongbin::dbbench
