#include "strongbin/memtable/rocksdb/rep_iterator.h"

#include <cassert>
#include <mutex>
#include <new>

namespace strongbin {

struct IteratorRoom::Block {
  Block* next;
  Block* previous;     // in use only
  IteratorRoom* home;  // null: gone
  alignas(RepIterator) std::byte room[sizeof(RepIterator)];
};

IteratorRoom::~IteratorRoom() {
  for (Block* block = in_use_; block != nullptr; block = block->next) {
    std::launder(reinterpret_cast<RepIterator*>(block->room))->LetGo();
    block->home = nullptr;
  }
  while (kept_ != nullptr) {
    Block* block = kept_;
    kept_ = block->next;
    delete block;
  }
}

IteratorRoom::Block* IteratorRoom::Take() {
  std::unique_lock<WriterLock> lock(lock_);
  Block* block = kept_;
  if (block != nullptr) {
    kept_ = block->next;
    --kept_count_;
  } else {
    lock.unlock();
    block = new Block;  // not initialised: most of it never will be
    block->home = this;
    lock.lock();
  }
  block->previous = nullptr;
  block->next = in_use_;
  if (in_use_ != nullptr) in_use_->previous = block;
  in_use_ = block;
  return block;
}

void* IteratorRoom::RoomIn(Block* block) { return block->room; }

void IteratorRoom::GiveBack(Block* block) {
  if (IteratorRoom* home = block->home; home != nullptr) {
    const std::lock_guard<WriterLock> lock(home->lock_);
    (block->previous != nullptr ? block->previous->next : home->in_use_) = block->next;
    if (block->next != nullptr) block->next->previous = block->previous;
    if (home->kept_count_ < kMaxKept) {
      block->next = home->kept_;
      home->kept_ = block;
      ++home->kept_count_;
      return;
    }
  }
  delete block;
}

// The cursor over all entries that there are now.
OrderedCursor<EncodedFace>& RepIterator::Ordered() {
  current_ = nullptr;
  is_lookup_ = false;
  if (!cursor_) cursor_.emplace(log_);
  if (!core_.SetSources(&*cursor_)) throw std::bad_alloc();
  return *cursor_;
}

void RepIterator::Seek(const Slice& internal_key, const char* memtable_key) {
  const InternalKey target({internal_key.data(), internal_key.size()});
  if (memtable_key != nullptr) {
    is_lookup_ = true;
    ShowVersion(target.user_key, target.sequence);
    return;
  }
  Ordered().Seek({.key = target.user_key, .sequence = target.sequence});
  ShowCursor();
}

void RepIterator::SeekForPrev(const Slice& internal_key, const char*) {
  const InternalKey target({internal_key.data(), internal_key.size()});
  // The last entry before the first one behind the target. Sequences fall, so one less comes behind; there is nothing
  // less than 0.
  if (target.sequence == 0) {
    Ordered().SeekBefore({.key = target.user_key, .behind_all_versions = true});
  } else {
    Ordered().SeekBefore({.key = target.user_key, .sequence = target.sequence - 1});
  }
  ShowCursor();
}

void RepIterator::SeekToFirst() {
  Ordered().SeekToFirst();
  ShowCursor();
}

void RepIterator::SeekToLast() {
  Ordered().SeekToLast();
  ShowCursor();
}

void RepIterator::Next() {
  if (is_lookup_) {
    const InternalKey shown = EncodedFace::Decode(*current_);
    if (shown.sequence == 0) {
      current_ = nullptr;
    } else {
      ShowVersion(shown.user_key, shown.sequence - 1);
    }
    return;
  }
  [[maybe_unused]] const EncodedEntry& previous = *current_;
  cursor_->Next();
  ShowCursor();
  assert(ComesBefore(previous, current_) && "the comparator's order is not the bytewise one");
}

bool RepIterator::ComesBefore(const EncodedEntry& entry, const EncodedEntry* next) const {
  return order_ == nullptr || next == nullptr || (*order_)(entry.bytes, next->bytes) < 0;
}

void RepIterator::Prev() {
  if (is_lookup_) {
    const InternalKey shown = EncodedFace::Decode(*current_);
    Ordered().Seek({.key = shown.user_key, .sequence = shown.sequence});
  }
  cursor_->Prev();
  ShowCursor();
}

void RepIterator::ShowVersion(std::string_view user_key, Sequence snapshot) {
  const std::optional<uint32_t> handle = core_.Find(user_key, snapshot);
  current_ = handle ? log_.At(*handle) : nullptr;
}

}  // namespace strongbin
