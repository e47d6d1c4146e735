// Appends batches to a log file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <rocksdb/status.h>

#include "strongbin/memtable/types.h"
#include "strongbin/tools/kv/directory.h"

namespace strongbin::kv {

// One log file, open for appending.
//
// One thread at a time. After a failure the file may end in a part of a record; the caller must write no more to it.
class LogWriter {
 public:
  // Makes the file, which must not exist. It is there after a crash once this has returned.
  static rocksdb::Status Create(const std::string& directory, uint64_t number, std::unique_ptr<LogWriter>* writer);

  // Appends a batch of `count` entries. It survives the process once this has returned, and the machine once Sync has.
  rocksdb::Status Append(Sequence first, size_t count, std::string_view payload);
  rocksdb::Status Sync();

  uint64_t number() const { return number_; }

 private:
  LogWriter(std::string path, uint64_t number, uint64_t salt, int descriptor)
      : path_(std::move(path)), number_(number), salt_(salt), file_(descriptor) {}
  rocksdb::Status WriteAll(std::string_view head, std::string_view body);

  const std::string path_;
  const uint64_t number_;
  const uint64_t salt_;
  const File file_;
  uint64_t offset_ = 0;
};

}  // namespace strongbin::kv
