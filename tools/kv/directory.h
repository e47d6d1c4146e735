// The files of a store, and system calls that say what went wrong.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/status.h>

namespace strongbin::kv {

// A system call's failure with its reason in words; reads errno.
rocksdb::Status SystemError(const std::string& what, const std::string& path);

// The log of this number: log-000000000007
std::string LogPath(const std::string& directory, uint64_t number);
// The numbers of all logs, ascending.
rocksdb::Status ListLogs(const std::string& directory, std::vector<uint64_t>* numbers);
// Deletes logs, oldest first, and each durably before the next: after a crash the logs that are left are always the
// newest ones, so that replaying them never brings back an older value.
rocksdb::Status DeleteLogs(const std::string& directory, const std::vector<uint64_t>& numbers);
// Makes names that were added to or taken from the directory durable.
rocksdb::Status SyncDirectory(const std::string& directory);

// Closes a file descriptor at the end.
class File {
 public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  ~File();
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File& operator=(File&&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace strongbin::kv
