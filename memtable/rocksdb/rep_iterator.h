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
// That may be after the memtable's: an iterator that pins what it reads lets go of memtables and of their iterators in
// the order of their addresses. What is still in use then is freed by the last of its iterators.
// Thread safety: any thread. When memory is refused: Take throws std::bad_alloc, as operator new does.
class IteratorRoom {
 public:
  IteratorRoom() = default;
  ~IteratorRoom();  // iterators in use let go of the memtable; only their destructors may follow
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
  Block* in_use_ = nullptr;
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

  using KeyComparator = ROCKSDB_NAMESPACE::MemTableRep::KeyComparator;

  // `order`, if not null, is asked in builds with assertions whether entries come as it wants them.
  RepIterator(const EncodedLog& log, const TableCore<EncodedFace>& core, const KeyComparator* order,
              IteratorRoom::Block* block)
      : IteratorHome(block), log_(log), core_(core), order_(order) {}

  // The check of virtual calls would mark the object as dead in room that is given back by then.
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

  // Holds nothing of the memtable any more.
  void LetGo() {
    current_ = nullptr;
    cursor_.reset();
  }

 private:
  OrderedCursor<EncodedFace>& Ordered();
  void ShowCursor() { current_ = cursor_->Valid() ? &cursor_->slot() : nullptr; }
  bool ComesBefore(const EncodedEntry& entry, const EncodedEntry* next) const;
  void ShowVersion(std::string_view user_key, Sequence snapshot);

  const EncodedLog& log_;
  const TableCore<EncodedFace>& core_;
  const KeyComparator* const order_;
  const EncodedEntry* current_ = nullptr;
  bool is_lookup_ = false;
  std::optional<OrderedCursor<EncodedFace>> cursor_;  // made by the first ordered seek
};

}  // namespace strongbin
