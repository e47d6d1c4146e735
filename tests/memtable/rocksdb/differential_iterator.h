// An iterator of one database, moved as a list of operations says.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/snapshot.h>

#include "strongbin/tests/memtable/rocksdb/differential_operation.h"
#include "strongbin/tests/memtable/rocksdb/differential_trace.h"

namespace strongbin::differential {

using SharedSnapshot = std::shared_ptr<ROCKSDB_NAMESPACE::ManagedSnapshot>;

class MovedIterator {
 public:
  // `operation` has the mode and the bounds; its option 1 pins what is read. `snapshot` may be null; RocksDB needs it
  // for as long as the iterator lives. `only_forward`: moves backward are skipped too.
  MovedIterator(ROCKSDB_NAMESPACE::DB* db, ROCKSDB_NAMESPACE::ColumnFamilyHandle* family, SharedSnapshot snapshot,
                const Operation& operation, bool only_forward);

  // Records after each move where the iterator is. Moves that RocksDB leaves undefined are skipped: by both databases,
  // as long as both agree.
  void Move(const std::vector<Operation>& moves, Trace* trace);
  // From the first to the last entry and back.
  void MoveOverAll(Trace* trace);

 private:
  bool IsDefined(OpKind move) const;
  void MoveOnce(const Operation& move, Trace* trace);
  void RecordPlace(std::string_view asked, Trace* trace);
  void RecordPinned(Trace* trace);

  const IteratorMode mode_;
  const std::optional<std::string> lower_;
  const std::optional<std::string> upper_;
  const ROCKSDB_NAMESPACE::Slice lower_slice_;
  const ROCKSDB_NAMESPACE::Slice upper_slice_;
  const bool pins_;
  const bool only_forward_;
  const SharedSnapshot snapshot_;
  std::unique_ptr<ROCKSDB_NAMESPACE::Iterator> iterator_;
  bool positioned_ = false;
  // Keys that the iterator promised to keep where they are, and what they were.
  std::vector<std::pair<ROCKSDB_NAMESPACE::Slice, std::string>> pinned_;
};

}  // namespace strongbin::differential
