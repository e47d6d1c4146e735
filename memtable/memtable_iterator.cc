#include "strongbin/memtable/memtable_iterator.h"

#include <utility>

#include "strongbin/memtable/iterator_impl.h"

namespace strongbin {

MemtableIterator::MemtableIterator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MemtableIterator::MemtableIterator(MemtableIterator&&) noexcept = default;
MemtableIterator& MemtableIterator::operator=(MemtableIterator&&) noexcept = default;
MemtableIterator::~MemtableIterator() = default;

bool MemtableIterator::Valid() const { return impl_ != nullptr && impl_->Valid(); }
Status MemtableIterator::status() const { return impl_ == nullptr ? Status::Code::kOutOfMemory : impl_->status(); }

void MemtableIterator::SeekToFirst() {
  if (impl_ != nullptr) impl_->SeekToFirst();
}
void MemtableIterator::SeekToLast() {
  if (impl_ != nullptr) impl_->SeekToLast();
}
void MemtableIterator::Seek(std::string_view key) {
  if (impl_ != nullptr) impl_->Seek(key);
}
void MemtableIterator::SeekForPrev(std::string_view key) {
  if (impl_ != nullptr) impl_->SeekForPrev(key);
}
void MemtableIterator::Next() { impl_->Next(); }
void MemtableIterator::Prev() { impl_->Prev(); }

std::string_view MemtableIterator::key() const { return EntryFace::Key(impl_->entry()); }
std::string_view MemtableIterator::value() const { return impl_->entry().value.view(); }
Sequence MemtableIterator::sequence() const { return EntryFace::SequenceOf(impl_->entry()); }
EntryKind MemtableIterator::kind() const { return EntryFace::KindOf(impl_->entry()); }

MemtableIterator::Impl::Impl(ReadPin pin, Status without_pin, const ReadOptions& options)
    : pin_(std::move(pin)),
      state_(static_cast<const TableState*>(pin_.get())),
      options_(options),
      cursor_(state_ == nullptr ? std::nullopt : std::optional<OrderedCursor<EntryFace>>(state_->log())),
      status_(state_ == nullptr ? without_pin : Status(Status::Code::kOk)) {}

bool MemtableIterator::Impl::Refresh() {
  current_ = nullptr;
  if (state_ == nullptr) return false;
  if (!state_->core().SetSources(&*cursor_)) {
    status_ = Status::Code::kOutOfMemory;
    return false;
  }
  status_ = Status::Code::kOk;
  return true;
}

void MemtableIterator::Impl::SeekToFirst() {
  if (!Refresh()) return;
  if (HasLower()) {
    cursor_->Seek({.key = options_.lower_bound});
  } else {
    cursor_->SeekToFirst();
  }
  SettleForward();
}

void MemtableIterator::Impl::Seek(std::string_view key) {
  if (HasLower() && CompareKeys(key, options_.lower_bound) < 0) key = options_.lower_bound;
  if (!Refresh()) return;
  cursor_->Seek({.key = key, .sequence = options_.snapshot});
  SettleForward();
}

void MemtableIterator::Impl::SeekToLast() {
  if (!Refresh()) return;
  if (HasUpper()) {
    cursor_->SeekBefore({.key = options_.upper_bound});
  } else {
    cursor_->SeekToLast();
  }
  SettleBackward();
}

void MemtableIterator::Impl::SeekForPrev(std::string_view key) {
  if (HasUpper() && CompareKeys(key, options_.upper_bound) >= 0) return SeekToLast();
  if (!Refresh()) return;
  cursor_->SeekBefore({.key = key, .behind_all_versions = true});
  SettleBackward();
}

void MemtableIterator::Impl::Next() {
  const std::string_view key = EntryFace::Key(*current_);
  if (cursor_is_before_current_) {
    // Backwards the cursor has gone past the current entry already.
    cursor_->Seek({.key = key, .sequence = EntryFace::SequenceOf(*current_)});
    cursor_is_before_current_ = false;
  }
  cursor_->Next();
  if (!options_.all_versions) PassVersionsForward(key);
  SettleForward();
}

void MemtableIterator::Impl::Prev() {
  if (!cursor_is_before_current_) cursor_->Prev();
  SettleBackward();
}

// Moves past what is left of `key`: some steps, then a search.
void MemtableIterator::Impl::PassVersionsForward(std::string_view key) {
  for (int steps = 0; cursor_->Valid(); ++steps) {
    if (cursor_->key_has_changed() || EntryFace::Key(cursor_->slot()) != key) return;
    if (steps == kMaxSteps) {
      cursor_->Seek({.key = key, .behind_all_versions = true});
      return;
    }
    cursor_->Next();
  }
}

// From the cursor's entry on: the first that the snapshot sees.
void MemtableIterator::Impl::SettleForward() {
  cursor_is_before_current_ = false;
  for (int steps = 0; cursor_->Valid(); ++steps) {
    const Entry& entry = cursor_->slot();
    if (HasUpper() && CompareKeys(EntryFace::Key(entry), options_.upper_bound) >= 0) break;
    if (EntryFace::SequenceOf(entry) <= options_.snapshot) return Show(entry, cursor_->handle());
    if (steps > 0 && steps % kMaxSteps == 0) {
      cursor_->Seek({.key = EntryFace::Key(entry), .sequence = options_.snapshot});
    } else {
      cursor_->Next();
    }
  }
  current_ = nullptr;
}

// From the cursor's entry backwards: the newest visible version of the first key that has one, or just the first
// visible version.
void MemtableIterator::Impl::SettleBackward() {
  cursor_is_before_current_ = false;
  for (int steps = 0; cursor_->Valid(); ++steps) {
    const Entry& entry = cursor_->slot();
    const std::string_view key = EntryFace::Key(entry);
    if (HasLower() && CompareKeys(key, options_.lower_bound) < 0) break;
    if (EntryFace::SequenceOf(entry) > options_.snapshot) {
      // All versions before it are newer still.
      if (steps > 0 && steps % kMaxSteps == 0) {
        cursor_->SeekBefore({.key = key});
      } else {
        cursor_->Prev();
      }
      continue;
    }
    if (options_.all_versions) return Show(entry, cursor_->handle());
    return ShowNewestBackward(key);
  }
  current_ = nullptr;
}

// The cursor stands at a visible version of `key`, reached backwards: shows the newest one and leaves the cursor before
// it.
void MemtableIterator::Impl::ShowNewestBackward(std::string_view key) {
  const Entry* newest = nullptr;
  uint32_t handle = 0;
  for (int steps = 0; cursor_->Valid(); ++steps) {
    const Entry& entry = cursor_->slot();
    if (EntryFace::Key(entry) != key || EntryFace::SequenceOf(entry) > options_.snapshot) break;
    if (steps == kMaxSteps) cursor_->Seek({.key = key, .sequence = options_.snapshot});
    newest = &cursor_->slot();
    handle = cursor_->handle();
    cursor_->Prev();
  }
  cursor_is_before_current_ = true;
  Show(*newest, handle);
}

void MemtableIterator::Impl::Show(const Entry& entry, uint32_t handle) {
  if (!state_->ChecksumMatches(handle, entry)) {
    status_ = Status::Code::kCorruption;
    current_ = nullptr;
    return;
  }
  current_ = &entry;
}

}  // namespace strongbin
