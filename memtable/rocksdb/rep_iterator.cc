#include "strongbin/memtable/rocksdb/rep_iterator.h"

#include <cassert>
#include <new>

namespace strongbin {

size_t IteratorBytes() { return sizeof(RepIterator); }

// The cursor over all entries that there are now.
OrderedCursor<EncodedFace>& RepIterator::Ordered() {
  current_ = nullptr;
  is_lookup_ = false;
  if (!cursor_) cursor_.emplace(state_.log);
  if (!state_.core.SetSources(&*cursor_)) throw std::bad_alloc();
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
  const std::optional<uint32_t> handle = state_.core.Find(user_key, snapshot);
  current_ = handle ? state_.log.At(*handle) : nullptr;
}

}  // namespace strongbin
