#include "strongbin/tests/memtable/rocksdb/differential_iterator.h"

namespace strongbin::differential {

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

constexpr size_t kMaxPinnedKeys = 1000;

}  // namespace

MovedIterator::MovedIterator(rdb::DB* db, rdb::ColumnFamilyHandle* family, SharedSnapshot snapshot,
                             const Operation& operation, bool only_forward)
    : mode_(static_cast<IteratorMode>(operation.mode)),
      lower_(operation.key),
      upper_(operation.end),
      lower_slice_(lower_ ? *lower_ : rdb::Slice()),
      upper_slice_(upper_ ? *upper_ : rdb::Slice()),
      pins_(operation.option == 1 && mode_ != IteratorMode::kTailing),
      only_forward_(only_forward),
      snapshot_(std::move(snapshot)) {
  rdb::ReadOptions options;
  if (snapshot_ != nullptr) options.snapshot = snapshot_->snapshot();
  options.tailing = mode_ == IteratorMode::kTailing;
  options.prefix_same_as_start = mode_ == IteratorMode::kSamePrefix;
  options.total_order_seek = !options.prefix_same_as_start;
  options.pin_data = pins_;
  if (lower_) options.iterate_lower_bound = &lower_slice_;
  if (upper_) options.iterate_upper_bound = &upper_slice_;
  iterator_.reset(db->NewIterator(options, family));
}

bool MovedIterator::IsDefined(OpKind move) const {
  const bool relative = move == OpKind::kNext || move == OpKind::kPrev;
  if (relative && (!positioned_ || !iterator_->Valid())) return false;
  const bool backward = move == OpKind::kSeekToLast || move == OpKind::kSeekForPrev || move == OpKind::kPrev;
  if (backward && only_forward_) return false;
  switch (mode_) {
    case IteratorMode::kTotalOrder:
      return true;
    case IteratorMode::kTailing:
      return move == OpKind::kSeekToFirst || move == OpKind::kSeek || move == OpKind::kNext;
    case IteratorMode::kSamePrefix:
      return move != OpKind::kSeekToFirst && move != OpKind::kSeekToLast;
  }
  return false;
}

void MovedIterator::Move(const std::vector<Operation>& moves, Trace* trace) {
  // It depends on when memtables are flushed whether a tailing iterator finds newer entries without another seek.
  if (mode_ == IteratorMode::kTailing) positioned_ = false;
  for (const Operation& move : moves) {
    if (IsDefined(move.kind)) MoveOnce(move, trace);
  }
  if (pins_) RecordPinned(trace);
}

void MovedIterator::MoveOnce(const Operation& move, Trace* trace) {
  const std::string_view asked = OpKindName(move.kind);
  switch (move.kind) {
    case OpKind::kSeekToFirst:
      iterator_->SeekToFirst();
      break;
    case OpKind::kSeekToLast:
      iterator_->SeekToLast();
      break;
    case OpKind::kSeek:
      iterator_->Seek(*move.key);
      break;
    case OpKind::kSeekForPrev:
      iterator_->SeekForPrev(*move.key);
      break;
    case OpKind::kNext:
      iterator_->Next();
      break;
    case OpKind::kPrev:
      iterator_->Prev();
      break;
    case OpKind::kRefresh: {
      if (pins_) RecordPinned(trace);
      pinned_.clear();
      const rdb::Status status = iterator_->Refresh();
      trace->AddStatus(asked, status);
      if (status.ok()) positioned_ = false;
      return;
    }
    default:
      return;
  }
  positioned_ = true;
  RecordPlace(asked, trace);
}

void MovedIterator::RecordPlace(std::string_view asked, Trace* trace) {
  if (!iterator_->Valid()) return trace->AddStatus(asked, iterator_->status());
  trace->AddEntry(asked, iterator_->key(), iterator_->value());
  std::string is_pinned;
  if (!pins_ || pinned_.size() >= kMaxPinnedKeys) return;
  if (iterator_->GetProperty("rocksdb.iterator.is-key-pinned", &is_pinned).ok() && is_pinned == "1") {
    pinned_.emplace_back(iterator_->key(), iterator_->key().ToString());
  }
}

void MovedIterator::RecordPinned(Trace* trace) {
  size_t moved = 0;
  for (const auto& [slice, key] : pinned_) moved += slice == rdb::Slice(key) ? 0u : 1u;
  trace->Add("pinned keys that changed", std::to_string(moved));
}

void MovedIterator::MoveOverAll(Trace* trace) {
  if (mode_ != IteratorMode::kTotalOrder) return;
  const auto move = [&](OpKind kind) { MoveOnce({.kind = kind}, trace); };
  for (move(OpKind::kSeekToFirst); iterator_->Valid();) move(OpKind::kNext);
  if (only_forward_) return;
  for (move(OpKind::kSeekToLast); iterator_->Valid();) move(OpKind::kPrev);
}

}  // namespace strongbin::differential
