// Iterators of a RocksDB memtable, and where they live.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <rocksdb/memtablerep.h>

#include "strongbin/memtable/ordered_cursor.h"
#include "strongbin/memtable/rocksdb/encoded_entry.h"
#include "strongbin/memtable/table_core.h"
#include "strongbin/memtable/writer_lock.h"

namespace strongbin {

// Room for iterators, used again and again: an iterator is some kilobytes, and fresh ones would halve the rate of short
// scans.
//
// Owns the blocks; keeps at most kMaxKept that are not in use. RocksDB asks for iterators in an arena of its own, whose
// interface is private, and then runs only their destructors: so the room is ours, and comes back from the destructor.
// Thread safety: any thread. When memory is refused: Take throws std::bad_alloc, as operator new does.
class IteratorRoom {
 public:
  IteratorRoom() = default;
  ~IteratorRoom();  // requires that all blocks have come back
  IteratorRoom(const IteratorRoom&) = delete;
  IteratorRoom& operator=(const IteratorRoom&) = delete;

  struct Block;
  Block* Take();
  static void* RoomIn(Block* block);
  // Nothing of the block may be touched afterwards.
  static void GiveBack(Block* block);

 private:
  static constexpr size_t kMaxKept = 16;

  WriterLock lock_{/*enabled=*/true};
  Block* kept_ = nullptr;
  size_t kept_count_ = 0;
};

// The first base of an iterator, so that it is destroyed last: gives the block back when nothing of the iterator is
// left. Without a block, for an iterator that lives elsewhere, it does nothing.
class IteratorHome {
 public:
  IteratorHome(const IteratorHome&) = delete;
  IteratorHome& operator=(const IteratorHome&) = delete;

 protected:
  explicit IteratorHome(IteratorRoom::Block* block) : block_(block) {}
  ~IteratorHome() {
    if (block_ != nullptr) IteratorRoom::GiveBack(block_);
  }

 private:
  IteratorRoom::Block* const block_;
};

// Shows the entries of one memtable in order, or, after a Seek with a memtable key, the versions of one user key from a
// snapshot down.
//
// Borrows the memtable, which RocksDB keeps alive. One thread at a time, beside writers. Each Seek* sees all entries
// whose insert returned before it. When memory for sorting is refused: std::bad_alloc, since RocksDB's interface knows
// no status here and an iterator that ends early would lose writes at a flush. Cost: a lookup touches the index alone;
// the first ordered seek after writes sorts them.
class RepIterator final : private IteratorHome, public ROCKSDB_NAMESPACE::MemTableRep::Iterator {
 public:
  using Slice = ROCKSDB_NAMESPACE::Slice;

  RepIterator(const EncodedLog& log, const TableCore<EncodedFace>& core, IteratorRoom::Block* block)
      : IteratorHome(block), log_(log), core_(core) {}
  // UndefinedBehaviorSanitizer would clear the virtual table's address once all is destroyed: in room that may by then
  // be somebody else's.
  [[gnu::no_sanitize("vptr")]] ~RepIterator() override {}

  // Where RocksDB deletes an iterator, the destructor has already given the room back.
  static void operator delete(void*) {}
  static void* operator new(size_t, void* room) { return room; }

  bool Valid() const override { return current_ != nullptr; }
  const char* key() const override { return current_->bytes; }
  void Next() override;
  void Prev() override;
  void Seek(const Slice& internal_key, const char* memtable_key) override;
  void SeekForPrev(const Slice& internal_key, const char* memtable_key) override;
  void SeekToFirst() override;
  void SeekToLast() override;

 private:
  OrderedCursor<EncodedFace>& Ordered();
  void ShowCursor() { current_ = cursor_->Valid() ? &cursor_->slot() : nullptr; }
  void ShowVersion(std::string_view user_key, Sequence snapshot);

  const EncodedLog& log_;
  const TableCore<EncodedFace>& core_;
  const EncodedEntry* current_ = nullptr;
  bool is_lookup_ = false;
  std::optional<OrderedCursor<EncodedFace>> cursor_;  // made by the first ordered seek
};

}  // namespace strongbin
