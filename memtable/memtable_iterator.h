// Ordered reading of a memtable.
#pragma once

#include <memory>
#include <string_view>

#include "strongbin/memtable/types.h"

namespace strongbin {

// Walks a memtable in order, in both directions.
//
// Owns a pin on the table; move-only. One thread at a time; may be destroyed on another thread, and after the table.
// Lifetime: key() and value() view the table's own bytes and live until the table is reset or ended, thus at least as
// long as the iterator. When wrong: Valid() turns false and status() says why (kCorruption, kOutOfMemory, kClosed).
// Running off an end is no error. Cost: creation O(1); Seek* sort what was appended since the last ordered read, then
// O(runs * log n); Next and Prev O(log runs), and O(log n) when a key has many versions to be passed over.
class MemtableIterator {
 public:
  MemtableIterator(MemtableIterator&&) noexcept;
  MemtableIterator& operator=(MemtableIterator&&) noexcept;
  ~MemtableIterator();

  bool Valid() const;
  Status status() const;

  void SeekToFirst();
  void SeekToLast();
  void Seek(std::string_view key);         // the first entry at or after `key`
  void SeekForPrev(std::string_view key);  // the last key at or before `key`; with all_versions its oldest version
  void Next();                             // requires Valid()
  void Prev();                             // requires Valid()

  // Require Valid().
  std::string_view key() const;
  std::string_view value() const;
  Sequence sequence() const;
  EntryKind kind() const;

 private:
  friend class AppendOnlyMemtable;
  class Impl;
  explicit MemtableIterator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strongbin
