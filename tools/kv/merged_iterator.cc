#include "strongbin/tools/kv/merged_iterator.h"

#include <utility>

#include "strongbin/tools/kv/table_status.h"

namespace strongbin::kv {

MergedIterator::MergedIterator(std::shared_ptr<const TableList> tables, Sequence snapshot,
                               std::unique_ptr<rocksdb::Iterator> rest)
    : tables_(std::move(tables)), rest_(std::move(rest)) {
  ReadOptions options;
  options.snapshot = snapshot;
  for (const auto& table : *tables_) newer_.push_back(table->NewIterator(options));
}

void MergedIterator::Seek(std::string_view key) {
  for (MemtableIterator& it : newer_) it.Seek(key);
  rest_->Seek({key.data(), key.size()});
  Choose();
}

void MergedIterator::Next() {
  SkipPast(key());
  Choose();
}

bool MergedIterator::HasMore(size_t source) const {
  return source < newer_.size() ? newer_[source].Valid() : rest_->Valid();
}

std::string_view MergedIterator::KeyOf(size_t source) const {
  if (source < newer_.size()) return newer_[source].key();
  return {rest_->key().data(), rest_->key().size()};
}

std::string_view MergedIterator::value() const {
  if (current_ < newer_.size()) return newer_[current_].value();
  return {rest_->value().data(), rest_->value().size()};
}

void MergedIterator::Advance(size_t source) {
  if (source < newer_.size()) {
    newer_[source].Next();
  } else {
    rest_->Next();
  }
}

// Moves every source that stands at `key`; the source that `key` views, last.
void MergedIterator::SkipPast(std::string_view key) {
  for (size_t source = current_ + 1; source <= newer_.size(); ++source) {
    if (HasMore(source) && KeyOf(source) == key) Advance(source);
  }
  Advance(current_);
}

// Stops at the smallest key that is not deleted; of equal keys the newest source has it.
void MergedIterator::Choose() {
  for (;;) {
    current_ = kNone;
    for (size_t source = 0; source <= newer_.size(); ++source) {
      if (HasMore(source) && (current_ == kNone || KeyOf(source) < KeyOf(current_))) current_ = source;
    }
    if (!status().ok()) current_ = kNone;
    if (current_ >= newer_.size() || newer_[current_].kind() != EntryKind::kDelete) return;
    SkipPast(KeyOf(current_));
  }
}

rocksdb::Status MergedIterator::status() const {
  for (const MemtableIterator& it : newer_) {
    if (!it.status().ok()) return FromTable("cannot read a memtable", it.status());
  }
  return rest_->status();
}

}  // namespace strongbin::kv
