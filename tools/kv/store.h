// A small durable key-value store around the memtable, for many threads: dbbench's engine `kv`. (How to embed the
// memtable is shown by examples/tiny_store.cc, in fewer lines.)
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/tools/kv/batch.h"
#include "strongbin/tools/kv/log_writer.h"
#include "strongbin/tools/kv/merged_iterator.h"
#include "strongbin/tools/kv/rest.h"
#include "strongbin/tools/kv/table_list.h"

namespace strongbin::kv {

enum class LogMode : uint8_t {
  kSynced,    // a batch survives the machine once its write has returned
  kUnsynced,  // it survives the process; a crash of the machine may lose the newest, or leave a log that is refused
  kNone,      // it survives once it has been flushed
};

struct Options {
  std::string directory;      // made when missing; one store at a time
  ChunkPool* pool = nullptr;  // null: the pool of the process
  size_t table_bytes = size_t{64} << 20;
  size_t max_frozen_tables = 4;  // that wait for the flush; then writers wait
  LogMode log = LogMode::kSynced;
  rocksdb::Options rest;  // of the RocksDB that holds what is flushed
};

// The way of a write: one record in the log, synced; entries in the memtable; when that is full, a file that RocksDB
// takes in; then the table is empty again, its chunks are in the pool, and the log is deleted.
//
// Owns: the files below its directory, its tables, one thread that flushes. Thread safety: all methods, from any
// thread; writers one at a time. What Open finds in the logs is there again: all batches whose write returned. When
// wrong: a status. A batch that does not fit is refused and changes nothing; after a failure of the log, of a table's
// memory or of a flush the store refuses writes (what it has is still readable), and the batch that met the failure may
// be there or not once it has been opened again.
class Store {
 public:
  static rocksdb::Status Open(const Options& options, std::unique_ptr<Store>* store);
  // Ends the flush in progress and starts no other: what lies in logs stays there, and without them is lost.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  rocksdb::Status Write(const Batch& batch);
  rocksdb::Status Get(std::string_view key, std::string* value);  // NotFound when there is none
  // All keys as of now, in order. Must not outlive the store.
  std::unique_ptr<MergedIterator> NewIterator();
  // Returns when all that was written before lies in RocksDB.
  rocksdb::Status Flush();

  // Tables begun; entries and bytes of those that have been flushed.
  struct Counts {
    uint64_t tables = 0;
    uint64_t entries = 0;
    uint64_t table_bytes = 0;
  };
  Counts FlushedTables() const;

 private:
  explicit Store(const Options& options);

  rocksdb::Status Recover();
  rocksdb::Status FlushAlone();
  rocksdb::Status BeginLog();
  rocksdb::Status Rotate();
  rocksdb::Status AwaitFlushes(size_t at_most);
  rocksdb::Status Failure() const;
  rocksdb::Status Fail(rocksdb::Status status);
  std::shared_ptr<AppendOnlyMemtable> TakeTable();
  void FlushLoop();
  void FlushOldest(std::unique_lock<std::mutex>& lock);

  const Options options_;
  std::unique_ptr<Rest> rest_;

  // ---- Writers, one at a time ----
  std::mutex write_mutex_;
  std::unique_ptr<LogWriter> log_;
  std::shared_ptr<AppendOnlyMemtable> active_;
  std::vector<strongbin::Write> writes_;  // of the batch at hand
  uint64_t next_log_ = 1;
  // Release after the entries are in the table, acquire by readers: the snapshot that they read at.
  std::atomic<Sequence> last_sequence_{0};

  // ---- Tables and their flush ----
  struct Frozen {
    std::shared_ptr<AppendOnlyMemtable> table;
    uint64_t log_number;  // 0: none
  };
  mutable std::mutex mutex_;  // taken after write_mutex_
  std::condition_variable changed_;
  std::shared_ptr<const TableList> tables_;  // the active one, then the frozen ones, newest first
  std::deque<Frozen> frozen_;                // oldest first
  std::vector<std::shared_ptr<AppendOnlyMemtable>> spare_;
  rocksdb::Status failure_;
  Counts counts_;
  bool ending_ = false;
  std::thread flusher_;
};

}  // namespace strongbin::kv
