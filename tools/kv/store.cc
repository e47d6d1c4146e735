#include "strongbin/tools/kv/store.h"

#include <atomic>
#include <utility>

#include "strongbin/tools/kv/directory.h"
#include "strongbin/tools/kv/table_status.h"

namespace strongbin::kv {

Store::Store(const Options& options) : options_(options) {}

Store::~Store() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (flusher_.joinable()) flusher_.join();
}

rocksdb::Status Store::Write(const Batch& batch) {
  if (!batch.fits()) return rocksdb::Status::InvalidArgument("the batch is larger than a log record can be");
  if (batch.count() == 0) return rocksdb::Status::OK();
  const std::lock_guard writer(write_mutex_);
  if (rocksdb::Status failure = Failure(); !failure.ok()) return failure;
  if (active_->ShouldFreeze()) {
    if (rocksdb::Status rotated = Rotate(); !rotated.ok()) return rotated;
  }

  // Relaxed: only writers change it, under the lock.
  const Sequence first = last_sequence_.load(std::memory_order_relaxed) + 1;
  if (!DecodeBatch(batch.payload(), batch.count(), first, &writes_)) {
    return rocksdb::Status::InvalidArgument("not a batch");
  }
  if (log_ != nullptr) {
    rocksdb::Status logged = log_->Append(first, batch.count(), batch.payload());
    if (logged.ok() && options_.log == LogMode::kSynced) logged = log_->Sync();
    if (!logged.ok()) return Fail(logged);
  }
  // All or nothing; a reader sees none of it before last_sequence_ says so.
  const Status appended = active_->AppendBatch(writes_);
  if (!appended.ok()) return Fail(FromTable("cannot append to the memtable", appended));
  last_sequence_.store(first + batch.count() - 1, std::memory_order_release);
  return rocksdb::Status::OK();
}

rocksdb::Status Store::Get(std::string_view key, std::string* value) {
  std::shared_ptr<const TableList> tables;
  {
    const std::lock_guard lock(mutex_);
    tables = tables_;
  }
  // Acquire: pairs with the release in Write.
  const Sequence snapshot = last_sequence_.load(std::memory_order_acquire);
  for (const auto& table : *tables) {
    const LookupResult result = table->Get(key, snapshot);
    if (result.found()) {
      if (result.kind == EntryKind::kDelete) return rocksdb::Status::NotFound();
      value->assign(result.value);
      return rocksdb::Status::OK();
    }
    if (result.status != Status::Code::kNotFound) return FromTable("cannot read the memtable", result.status);
  }
  // What has left the tables of the list since is here.
  return rest_->db().Get(rocksdb::ReadOptions(), {key.data(), key.size()}, value);
}

std::unique_ptr<MergedIterator> Store::NewIterator() {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  // Under the lock, so that RocksDB holds nothing that is newer than what the list has.
  const std::lock_guard lock(mutex_);
  const Sequence snapshot = last_sequence_.load(std::memory_order_acquire);  // pairs with the release in Write
  return std::make_unique<MergedIterator>(tables_, snapshot,
                                          std::unique_ptr<rocksdb::Iterator>(rest_->db().NewIterator(options)));
}

rocksdb::Status Store::Flush() {
  const std::lock_guard writer(write_mutex_);
  if (rocksdb::Status failure = Failure(); !failure.ok()) return failure;
  if (!active_->empty()) {
    if (rocksdb::Status rotated = Rotate(); !rotated.ok()) return rotated;
  }
  return AwaitFlushes(0);
}

// The table that takes the writes goes to the flush, another takes its place, and a new log begins.
rocksdb::Status Store::Rotate() {
  if (rocksdb::Status waited = AwaitFlushes(options_.max_frozen_tables); !waited.ok()) return waited;
  const uint64_t old_log = log_ == nullptr ? 0 : log_->number();
  if (log_ != nullptr) {
    if (rocksdb::Status synced = log_->Sync(); !synced.ok()) return Fail(synced);
    if (rocksdb::Status begun = BeginLog(); !begun.ok()) return Fail(begun);
  }
  const std::lock_guard lock(mutex_);
  active_->Freeze();
  frozen_.push_back({active_, old_log});
  active_ = TakeTable();
  auto tables = std::make_shared<TableList>(*tables_);
  tables->insert(tables->begin(), active_);
  tables_ = std::move(tables);
  changed_.notify_all();
  return rocksdb::Status::OK();
}

rocksdb::Status Store::BeginLog() {
  rocksdb::Status made = LogWriter::Create(options_.directory, next_log_, &log_);
  if (made.ok()) ++next_log_;
  return made;
}

rocksdb::Status Store::AwaitFlushes(size_t at_most) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return frozen_.size() <= at_most || !failure_.ok(); });
  return failure_;
}

rocksdb::Status Store::Failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

// Keeps the first reason.
rocksdb::Status Store::Fail(rocksdb::Status status) {
  const std::lock_guard lock(mutex_);
  if (failure_.ok()) failure_ = std::move(status);
  changed_.notify_all();
  return failure_;
}

// An emptied table that expects what it held before, or a new one. Under mutex_.
std::shared_ptr<AppendOnlyMemtable> Store::TakeTable() {
  ++counts_.tables;
  if (!spare_.empty()) {
    std::shared_ptr<AppendOnlyMemtable> table = std::move(spare_.back());
    spare_.pop_back();
    return table;
  }
  MemtableOptions options;
  options.pool = options_.pool;
  options.freeze_bytes = options_.table_bytes;
  options.concurrent_writers = false;
  return std::make_shared<AppendOnlyMemtable>(options);
}

void Store::FlushLoop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || (!frozen_.empty() && failure_.ok()); });
    if (ending_) return;
    FlushOldest(lock);
    changed_.notify_all();
  }
}

void Store::FlushOldest(std::unique_lock<std::mutex>& lock) {
  Frozen oldest = frozen_.front();
  lock.unlock();
  rocksdb::Status status = rest_->Flush(*oldest.table);
  if (status.ok() && oldest.log_number != 0) status = DeleteLogs(options_.directory, {oldest.log_number});
  lock.lock();
  if (!status.ok()) {
    if (failure_.ok()) failure_ = std::move(status);
    return;
  }
  counts_.entries += oldest.table->entry_count();
  counts_.table_bytes += oldest.table->MemoryUsage();
  auto tables = std::make_shared<TableList>(*tables_);
  tables->pop_back();
  tables_ = std::move(tables);
  frozen_.pop_front();
  // No list that a reader can still take names the table. If this is the only reference left, no reader has one either;
  // otherwise the last of them frees it.
  if (oldest.table.use_count() != 1) return;
  std::atomic_thread_fence(std::memory_order_acquire);  // the last reader is done with what it read
  if (oldest.table->ResetWarm().ok()) spare_.push_back(std::move(oldest.table));
}

Store::Counts Store::FlushedTables() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace strongbin::kv
