// One order over several memtables and a RocksDB.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include <rocksdb/iterator.h>
#include <rocksdb/status.h>

#include "strongbin/memtable/memtable_iterator.h"
#include "strongbin/tools/kv/table_list.h"

namespace strongbin::kv {

// Walks the newest version of each key upwards; deleted keys are not shown.
//
// Owns its list of tables, which are not reused meanwhile. One thread at a time. Views live until the next move.
// When wrong: Valid() turns false and status() says why.
class MergedIterator {
 public:
  MergedIterator(std::shared_ptr<const TableList> tables, Sequence snapshot, std::unique_ptr<rocksdb::Iterator> rest);

  void Seek(std::string_view key);  // the first key at or after `key`
  void Next();                      // requires Valid()

  bool Valid() const { return current_ != kNone; }
  std::string_view key() const { return KeyOf(current_); }  // requires Valid(), as does value()
  std::string_view value() const;
  rocksdb::Status status() const;

 private:
  static constexpr size_t kNone = ~size_t{0};

  bool HasMore(size_t source) const;
  std::string_view KeyOf(size_t source) const;
  void Advance(size_t source);
  void SkipPast(std::string_view key);
  void Choose();

  // Sources are numbered from the newest: the tables in the order of the list, then RocksDB.
  const std::shared_ptr<const TableList> tables_;
  std::vector<MemtableIterator> newer_;
  const std::unique_ptr<rocksdb::Iterator> rest_;
  size_t current_ = kNone;
};

}  // namespace strongbin::kv
