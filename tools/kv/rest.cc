#include "strongbin/tools/kv/rest.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include <rocksdb/env.h>
#include <rocksdb/sst_file_writer.h>

#include "strongbin/tools/kv/table_status.h"

namespace strongbin::kv {
namespace {

rocksdb::Slice ToSlice(std::string_view view) { return {view.data(), view.size()}; }

}  // namespace

rocksdb::Status Rest::Open(const rocksdb::Options& options, const std::string& directory, std::unique_ptr<Rest>* rest) {
  rocksdb::Options own = options;
  own.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(own, directory + "/rest", &db);
  if (status.ok()) rest->reset(new Rest(own, directory + "/flush.sst", db));
  return status;
}

rocksdb::Status Rest::WriteFile(const AppendOnlyMemtable& table) const {
  rocksdb::SstFileWriter writer{rocksdb::EnvOptions(), options_};
  rocksdb::Status status = writer.Open(file_path_);
  MemtableIterator it = table.NewIterator();
  for (it.SeekToFirst(); status.ok() && it.Valid(); it.Next()) {
    status = it.kind() == EntryKind::kDelete ? writer.Delete(ToSlice(it.key()))
                                             : writer.Put(ToSlice(it.key()), ToSlice(it.value()));
  }
  if (status.ok()) status = FromTable("cannot read the memtable", it.status());
  return status.ok() ? writer.Finish() : status;
}

rocksdb::Status Rest::Flush(const AppendOnlyMemtable& table) {
  if (table.empty()) return rocksdb::Status::OK();
  std::error_code ignored;
  std::filesystem::remove(file_path_, ignored);  // of a flush that a crash cut off
  if (rocksdb::Status written = WriteFile(table); !written.ok()) return written;
  rocksdb::IngestExternalFileOptions ingest;
  ingest.move_files = true;
  ingest.write_global_seqno = false;  // RocksDB keeps the number in its manifest; the file stays as it was synced
  return db_->IngestExternalFile({file_path_}, ingest);
}

}  // namespace strongbin::kv
