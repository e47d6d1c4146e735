// What the harness asks of a store, and the stores it knows.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "strongbin/stats/metrics.h"
#include "strongbin/tools/dbbench/config.h"
#include "strongbin/tools/dbbench/content.h"
#include "strongbin/tools/dbbench/workload.h"

namespace strongbin::dbbench {

// What one round will do.
struct RoundPlan {
  const DataSet* data = nullptr;
  Ledger* ledger = nullptr;  // where drains go; null when the round ends without a drain
  bool hold_all = false;     // one memtable takes everything, so that reads meet the memtable and nothing else
  uint64_t entries = 0;      // writes to come, loading included
  size_t threads = 1;
};

// The chunk pool below an engine.
struct PoolGauges {
  uint64_t idle_bytes = 0;
  uint64_t lent_bytes = 0;
};
struct PoolNumbers {  // since Open, but for the last three
  std::array<uint64_t, kChunkKindCount> fresh_chunks{};
  std::array<uint64_t, kChunkKindCount> fresh_chunk_bytes{};
  uint64_t gets = 0;
  uint64_t hits = 0;
  uint64_t mapped_bytes = 0;  // newly taken from the operating system
  uint64_t admission_drop_bytes = 0;
  uint64_t cap_bytes = 0;
  uint64_t lent_bytes_max = 0;
  uint64_t idle_bytes_max = 0;
};

// What an engine can say of the round since Open.
struct EngineNumbers {
  uint64_t paused_ns = 0;  // all writers were held for work that is no part of the write
  uint64_t drain_ns = 0;   // freeze, ordered drain and reset, or waiting for the flush
  uint64_t drain_faults = 0;
  uint64_t tables = 0;  // memtables filled, begun ones included
  double table_bytes_per_entry = 0;
  std::optional<PoolNumbers> pool;
};

// A store under test.
//
// Life: Open, any calls by workers 0 to threads - 1, FinishWrites when the round drains, Close; then again.
// Threads: Admit, Write, Get and the scans from one thread per worker number, all at once; the rest alone, but
// ReadGauges from any thread. Views returned live until the next call with the same worker number. When it fails: the
// call answers false (or 0), and error() says why; the run then ends.
class Engine {
 public:
  virtual ~Engine() = default;

  // Makes an empty store.
  virtual bool Open(const RoundPlan& plan) = 0;
  // Called before each batch, outside its latency: the place to turn over a full table.
  virtual void Admit(size_t worker) { static_cast<void>(worker); }
  virtual bool Write(size_t worker, const Batch& batch) = 0;
  // False also when there is no such key; then error() stays empty.
  virtual bool Get(size_t worker, std::string_view key, std::string_view* value) = 0;
  // A scan from `start` up to `end` (no bound when empty), which must live as long as the scan.
  virtual bool OpenScan(size_t worker, std::string_view start, std::string_view end) = 0;
  // Reads at most `count` entries and returns how many there were.
  virtual uint64_t AdvanceScan(size_t worker, uint64_t count, ContentSum* sum) = 0;
  virtual void CloseScan(size_t worker) = 0;
  // Drains all that was written since Open into the ledger.
  virtual bool FinishWrites() = 0;
  // Empties the store for the next round: a warm reset, or deleting the folder.
  virtual bool Close() = 0;
  // Between tests: gives up caches and idle memory.
  virtual void Checkpoint() = 0;
  virtual EngineNumbers Numbers() = 0;
  // Options and treatment that a reader of the results must know, one line.
  virtual std::string Description() const = 0;
  // The pool's statistics at the end as text and as a JSON object; empty without a pool.
  virtual std::string PoolText() const { return {}; }
  virtual std::string PoolJson() const { return {}; }
  // The pool now; nothing without one.
  virtual std::optional<PoolGauges> ReadGauges() const { return std::nullopt; }

  std::string error() const {
    std::lock_guard lock(error_mutex_);
    return error_;
  }
  // Cheap enough for every operation that answered false.
  bool failed() const { return failed_.load(std::memory_order_acquire); }

 protected:
  // Keeps the first reason. Returns false, for the caller to return.
  bool Fail(std::string reason);

 private:
  mutable std::mutex error_mutex_;
  std::string error_;
  std::atomic<bool> failed_{false};  // release after the text is set, acquire before it is read
};

// Empty when MakeEngine knows the name, else what it knows.
std::string CheckEngineName(std::string_view name);
std::string EngineNames();
bool HasWriteAheadLog(std::string_view name);
// Needs a name that CheckEngineName takes. `directory` is where engines may make and delete files.
std::unique_ptr<Engine> MakeEngine(std::string_view name, const Config& config, const std::string& directory);

std::unique_ptr<Engine> MakeMemtableEngine(const Config& config);
std::unique_ptr<Engine> MakeKvEngine(const Config& config, const std::string& directory);
std::unique_ptr<Engine> MakeRocksDbEngine(std::string_view factory, const Config& config, const std::string& directory);
// Empty when RocksDB makes a memtable factory from `id`, else its reason and the names it knows.
std::string CheckRocksDbFactory(std::string_view id);

}  // namespace strongbin::dbbench
