// An open database with its column families: a primary, a read-only or a secondary instance.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <rocksdb/db.h>

#include "strongbin/tests/memtable/rocksdb/differential_iterator.h"
#include "strongbin/tests/memtable/rocksdb/differential_trace.h"

namespace strongbin::differential {

enum class InstanceKind : uint8_t { kPrimary, kReadOnly, kSecondary };

class Instance {
 public:
  Instance() = default;
  ~Instance() { Close(); }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  // A secondary instance keeps its own files in a directory beside `directory`.
  ROCKSDB_NAMESPACE::Status Open(InstanceKind kind, const ROCKSDB_NAMESPACE::Options& options,
                                 const std::string& directory);
  void Close();

  bool is_open() const { return db_ != nullptr; }
  ROCKSDB_NAMESPACE::DB* db() const { return db_.get(); }
  ROCKSDB_NAMESPACE::ColumnFamilyHandle* family(uint64_t number) const { return families_[number % families_.size()]; }
  const std::vector<ROCKSDB_NAMESPACE::ColumnFamilyHandle*>& families() const { return families_; }

  // See MovedIterator.
  std::unique_ptr<MovedIterator> NewIterator(const SharedSnapshot& snapshot, const Operation& operation) const;

  // Everything that is seen at `snapshot`, or at the newest state, by scans in both directions and by a lookup of each
  // key.
  void ReadAll(const SharedSnapshot& snapshot, Trace* trace) const;

 private:
  std::unique_ptr<ROCKSDB_NAMESPACE::DB> db_;
  std::vector<ROCKSDB_NAMESPACE::ColumnFamilyHandle*> families_;
  bool only_forward_ = false;
};

}  // namespace strongbin::differential
