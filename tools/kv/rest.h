// The RocksDB that holds what has left the memtables.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include "strongbin/memtable/append_only_memtable.h"

namespace strongbin::kv {

// A RocksDB that is only ever given whole sorted files.
//
// One thread flushes at a time; reads from any thread beside it.
class Rest {
 public:
  static rocksdb::Status Open(const rocksdb::Options& options, const std::string& directory,
                              std::unique_ptr<Rest>* rest);

  // Writes the newest version of each key, deletions included, to one file and takes it in above all that is there.
  // When it returns, the content is durable and readable here. Flushing the same table again changes nothing.
  rocksdb::Status Flush(const AppendOnlyMemtable& table);

  rocksdb::DB& db() const { return *db_; }

 private:
  Rest(rocksdb::Options options, std::string file_path, rocksdb::DB* db)
      : options_(std::move(options)), file_path_(std::move(file_path)), db_(db) {}
  rocksdb::Status WriteFile(const AppendOnlyMemtable& table) const;

  const rocksdb::Options options_;
  const std::string file_path_;  // before RocksDB has taken it
  const std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace strongbin::kv
