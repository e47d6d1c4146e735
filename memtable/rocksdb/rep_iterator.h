// Iterators of a RocksDB memtable.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <rocksdb/memtablerep.h>

#include "strongbin/memtable/ordered_cursor.h"
#include "strongbin/memtable/rocksdb/encoded_entry.h"
#include "strongbin/memtable/rocksdb/rep_state.h"

namespace strongbin {

// The first base of an iterator, so that it is destroyed last: gives its room back when nothing of the iterator is
// left, and then lets go of the memtable's state. Without room, for an iterator that lives elsewhere, it does nothing.
class IteratorHome {
 public:
  IteratorHome(const IteratorHome&) = delete;
  IteratorHome& operator=(const IteratorHome&) = delete;

 protected:
  IteratorHome(const RepState& state, void* room) : state_(state), room_(room) {
    if (room_ != nullptr) state_.Ref();
  }
  ~IteratorHome() {
    if (room_ == nullptr) return;
    const RepState& state = state_;
    state.room.GiveBack(room_);
    state.Unref();
  }

  const RepState& state_;

 private:
  void* const room_;
};

// Shows the entries of one memtable in order, or, after a Seek with a memtable key, the versions of one user key from a
// snapshot down.
//
// Shares the state of the memtable, which RocksDB may destroy before it, but not before it is last used. One thread at
// a time, beside writers. Each Seek* sees all entries whose insert returned before it. When memory for sorting is
// refused: std::bad_alloc, since RocksDB's interface knows no status here and an iterator that ends early would lose
// writes at a flush. Cost: a lookup touches the index alone; the first ordered seek after writes sorts them.
class RepIterator final : private IteratorHome, public ROCKSDB_NAMESPACE::MemTableRep::Iterator {
 public:
  using Slice = ROCKSDB_NAMESPACE::Slice;

  using KeyComparator = ROCKSDB_NAMESPACE::MemTableRep::KeyComparator;

  // `order`, if not null, is asked in builds with assertions whether entries come as it wants them. `room`, from
  // state.room, is where it lies; null if it lies elsewhere and does not outlive the memtable.
  RepIterator(const RepState& state, const KeyComparator* order, void* room)
      : IteratorHome(state, room), order_(order) {}

  // The sanitizer's check of virtual calls would mark the object as dead, in room that has been given back by then. A
  // defaulted destructor would not take the attribute.
  __attribute__((no_sanitize("vptr"))) ~RepIterator() override {}  // NOLINT(modernize-use-equals-default)
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
  bool ComesBefore(const EncodedEntry& entry, const EncodedEntry* next) const;
  void ShowVersion(std::string_view user_key, Sequence snapshot);

  const KeyComparator* const order_;
  const EncodedEntry* current_ = nullptr;
  bool is_lookup_ = false;
  std::optional<OrderedCursor<EncodedFace>> cursor_;  // made by the first ordered seek
};

}  // namespace strongbin
