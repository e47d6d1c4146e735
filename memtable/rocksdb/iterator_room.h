// Where iterators of a RocksDB memtable live.
#pragma once

#include <cstddef>

#include "strongbin/memtable/writer_lock.h"

namespace strongbin {

// Room for iterators, used again and again: an iterator is some kilobytes, and fresh ones would halve the rate of short
// scans.
//
// Owns the blocks that are not in use, at most kMaxKept. RocksDB asks for iterators in an arena of its own, whose
// interface is private, and then runs only their destructors: so the room is ours, and comes back from the destructor.
// Thread safety: any thread. When memory is refused: Take throws std::bad_alloc, as operator new does.
class IteratorRoom {
 public:
  explicit IteratorRoom(size_t object_bytes) : object_bytes_(object_bytes) {}
  ~IteratorRoom();
  IteratorRoom(const IteratorRoom&) = delete;
  IteratorRoom& operator=(const IteratorRoom&) = delete;

  // Room for an object of `object_bytes` and any fundamental alignment.
  void* Take();
  void GiveBack(void* object);

 private:
  static constexpr size_t kMaxKept = 16;

  // Before the object's room, not in it: a compiler may take what a destructor leaves in its object for dead.
  struct alignas(std::max_align_t) Block {
    Block* next;
  };

  const size_t object_bytes_;
  WriterLock lock_{/*enabled=*/true};
  Block* kept_ = nullptr;
  size_t kept_count_ = 0;
};

}  // namespace strongbin
