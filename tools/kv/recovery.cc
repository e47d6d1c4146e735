// Opening a store: what the logs hold goes to RocksDB, and a new log begins.
#include <filesystem>
#include <system_error>

#include "strongbin/tools/kv/directory.h"
#include "strongbin/tools/kv/log_reader.h"
#include "strongbin/tools/kv/store.h"
#include "strongbin/tools/kv/table_status.h"

namespace strongbin::kv {

rocksdb::Status Store::Open(const Options& options, std::unique_ptr<Store>* store) {
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (error) return rocksdb::Status::IOError("cannot make " + options.directory, error.message());
  std::unique_ptr<Store> opened(new Store(options));
  // RocksDB's lock keeps a second process out.
  rocksdb::Status status = Rest::Open(options.rest, options.directory, &opened->rest_);
  if (status.ok()) status = opened->Recover();
  if (status.ok() && options.log != LogMode::kNone) status = opened->BeginLog();
  if (!status.ok()) return status;
  opened->flusher_ = std::thread(&Store::FlushLoop, opened.get());
  *store = std::move(opened);
  return status;
}

rocksdb::Status Store::FlushAlone() {
  const rocksdb::Status flushed = rest_->Flush(*active_);
  return flushed.ok() ? FromTable("cannot empty the memtable", active_->ResetWarm()) : flushed;
}

// Replays all logs and flushes what they held, then deletes them. A crash on the way leaves the same or the newest of
// the same logs, and flushing their content again changes nothing. Alone: no thread knows the store yet.
rocksdb::Status Store::Recover() {
  active_ = TakeTable();
  tables_ = std::make_shared<TableList>(TableList{active_});
  std::vector<uint64_t> numbers;
  rocksdb::Status status = ListLogs(options_.directory, &numbers);
  Sequence last = 0;
  for (size_t i = 0; status.ok() && i < numbers.size(); ++i) {
    const std::string path = LogPath(options_.directory, numbers[i]);
    if (i > 0 && numbers[i] != numbers[i - 1] + 1) {
      return rocksdb::Status::Corruption("the log before " + path + " is missing");
    }
    LogContents contents;
    status = ReadLog(options_.directory, numbers[i], &contents);
    if (!status.ok()) break;
    if (contents.torn_bytes > 0 && i + 1 < numbers.size()) {
      return rocksdb::Status::Corruption(path + " ends in a part of a record, and is not the last log");
    }
    for (const LogRecord& record : contents.records) {
      if (last != 0 && record.first != last + 1) {
        return rocksdb::Status::Corruption(path + " does not go on where the log before it ended");
      }
      if (!DecodeBatch(record.payload, record.count, record.first, &writes_)) {
        return rocksdb::Status::Corruption(path + " holds a record that is no batch");
      }
      status = FromTable("cannot replay " + path, active_->AppendBatch(writes_));
      if (status.ok() && active_->ShouldFreeze()) status = FlushAlone();
      if (!status.ok()) return status;
      last = record.first + record.count - 1;
    }
  }
  if (status.ok()) status = FlushAlone();
  if (status.ok()) status = DeleteLogs(options_.directory, numbers);
  if (!status.ok()) return status;
  if (!numbers.empty()) next_log_ = numbers.back() + 1;
  last_sequence_.store(last, std::memory_order_relaxed);  // no thread knows the store yet
  return status;
}

}  // namespace strongbin::kv
