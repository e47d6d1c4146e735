#include "strongbin/memtable/rocksdb/iterator_room.h"

#include <mutex>
#include <new>

namespace strongbin {

IteratorRoom::~IteratorRoom() {
  while (kept_ != nullptr) {
    Block* block = kept_;
    kept_ = block->next;
    ::operator delete(block);
  }
}

void* IteratorRoom::Take() {
  {
    const std::lock_guard<WriterLock> lock(lock_);
    if (Block* block = kept_; block != nullptr) {
      kept_ = block->next;
      --kept_count_;
      return block + 1;
    }
  }
  Block* block = new (::operator new(sizeof(Block) + object_bytes_)) Block;
  return block + 1;
}

void IteratorRoom::GiveBack(void* object) {
  Block* block = static_cast<Block*>(object) - 1;
  {
    const std::lock_guard<WriterLock> lock(lock_);
    if (kept_count_ < kMaxKept) {
      block->next = kept_;
      kept_ = block;
      ++kept_count_;
      return;
    }
  }
  ::operator delete(block);
}

}  // namespace strongbin
