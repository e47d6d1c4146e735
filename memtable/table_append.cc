// How entries get into a table: built in place, then made findable, then published.
#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <new>

#include "strongbin/memtable/key_order.h"
#include "strongbin/memtable/table_state.h"

namespace strongbin {

namespace {

using Outcome = LookupIndex<EntryFace>::Outcome;

// memcpy for what is mostly short: a key of 9 to 16 bytes is two moves.
inline void CopyBytes(char* to, std::string_view from) {
  constexpr size_t kWord = sizeof(uint64_t);
  if (from.size() >= kWord && from.size() <= 2 * kWord) {
    uint64_t first, last;
    std::memcpy(&first, from.data(), kWord);
    std::memcpy(&last, from.data() + from.size() - kWord, kWord);
    std::memcpy(to, &first, kWord);
    std::memcpy(to + from.size() - kWord, &last, kWord);
  } else if (!from.empty()) {
    std::memcpy(to, from.data(), from.size());
  }
}

// Whether batches that are said to be sorted are looked at all the same.
#ifdef NDEBUG
constexpr bool kChecksTrust = false;
#else
constexpr bool kChecksTrust = true;
#endif

Status FailureOf(Outcome outcome) {
  return outcome == Outcome::kDuplicate ? Status::Code::kDuplicate : Status::Code::kOutOfMemory;
}

bool IsDone(Outcome outcome) { return outcome == Outcome::kNewKey || outcome == Outcome::kNewVersion; }

}  // namespace

template <class Arena>
bool TableState::Refer(Arena* arena, const char* data, size_t size, ByteRef* ref) {
  if (ByteRef::Fits(data, size)) [[likely]] {
    *ref = ByteRef::Near(data, size);
    return true;
  }
  char* room = arena->Allocate(sizeof(ByteRef::Far), alignof(ByteRef::Far));
  if (room == nullptr) return false;
  *ref = ByteRef::ToFar(new (room) ByteRef::Far{data, size});
  return true;
}

// Writes the entry into its slot, which is not published yet.
[[gnu::always_inline]] inline bool TableState::BuildEntry(const Write& write, Entry* slot, uint64_t position) {
  const size_t key_bytes = write.key.size() + write.key_suffix.size();
  ByteRef key = ByteRef::Near(nullptr, key_bytes);
  char* key_home = slot->inline_key;
  if (key_bytes > kInlineKeyBytes) {
    key_home = keys_.Allocate(key_bytes);
    if (key_home == nullptr || !Refer(&keys_, key_home, key_bytes, &key)) return false;
  } else {
    std::memset(slot->inline_key, 0, kInlineKeyBytes);
  }
  CopyBytes(key_home, write.key);
  if (!write.key_suffix.empty()) CopyBytes(key_home + write.key.size(), write.key_suffix);
  if (key_bytes > kInlineKeyBytes) std::memcpy(slot->inline_key, key_home, kInlineKeyBytes);

  const char* value_data = write.value.data();
  if (write.value_mode == ValueMode::kCopy && !write.value.empty()) {
    char* copy = values_.Allocate(write.value.size());
    if (copy == nullptr) return false;
    CopyBytes(copy, write.value);
    value_data = copy;
  }
  if (!Refer(&values_, value_data, write.value.size(), &slot->value)) return false;
  slot->key = key;
  slot->tag.store(EntryFace::MakeTag(write.sequence, write.kind), std::memory_order_relaxed);
  if (checksums_) *checksums_->At(position) = ChecksumOf(*slot);
  return true;
}

// Negative if `entry` comes behind `previous`, or there is none; zero if it is the same key and sequence.
inline int TableState::StepFrom(const Entry* previous, const Entry& entry) const {
  if (previous == nullptr) return -1;
  const uint64_t prefix = EntryFace::Prefix(entry), previous_prefix = EntryFace::Prefix(*previous);
  if (previous_prefix != prefix) [[likely]]
    return previous_prefix < prefix ? -1 : 1;
  return KeyOrder<EntryFace>(log_).Compare(*previous, entry);
}

Status TableState::Append(std::span<const Write> writes, bool trusted_sorted) {
  if (writes.empty()) return Status::Code::kOk;
  if (writes.size() > AppendLog<Entry>::kMaxSlots - log_.writer_size()) return Status::Code::kTooManyEntries;
  if (!EnsureRoom(writes.size())) return Status::Code::kOutOfMemory;
  if (writes.size() == 1) return AppendOne(writes[0]);
  if (ascending_) {
    bool done = false;
    size_t built_count = 0;
    const Status status = AppendAscending(writes, trusted_sorted, &done, &built_count);
    if (done || !status.ok()) return status;
    return AppendIndexed(writes, built_count);
  }
  return AppendIndexed(writes, /*built_count=*/0);
}

Status TableState::AppendOne(const Write& write) {
  if (pending_count_ == kMaxPending && !IndexPending()) return Status::Code::kOutOfMemory;
  const uint64_t position = log_.writer_size();
  LogWalk<Entry> walk = tail_;
  Entry* entry = walk.Next(log_);
  if (!BuildEntry(write, entry, position)) return Status::Code::kOutOfMemory;
  if (ascending_) {
    const int step = StepFrom(last_in_base_, *entry);
    if (step < 0) {
      ExtendBase(entry, 1, write.sequence, walk);
      return Status::Code::kOk;
    }
    if (step == 0) return Status::Code::kDuplicate;
    if (const Status status = SealBase(); !status.ok()) return status;
  }
  const uint64_t hash = HashOf(*entry);
  if (write.sequence > max_sequence_) [[likely]] {
    // Newer than all before it and so no duplicate: nothing can go wrong any more, and the index may wait until its
    // line is in the cache.
    index_.Prefetch(hash);
    pending_hashes_[pending_count_++] = hash;
  } else {
    if (!IndexPending()) return Status::Code::kOutOfMemory;
    if (const Outcome outcome = IndexEntry(hash, position); !IsDone(outcome)) return FailureOf(outcome);
    // Release: pairs with FindPosition.
    indexed_count_.store(position + 1, std::memory_order_release);
  }
  max_sequence_ = std::max(max_sequence_, write.sequence);
  Publish(1, walk);
  return Status::Code::kOk;
}

// Extends the base if all writes ascend; otherwise ends it. `*done` says which, and `*built_count` how many entries
// then lie in their slots already.
Status TableState::AppendAscending(std::span<const Write> writes, bool trusted_sorted, bool* done,
                                   size_t* built_count) {
  const uint64_t first = log_.writer_size();
  Sequence max_sequence = 0;
  const Entry* previous = last_in_base_;
  LogWalk<Entry> walk = tail_;
  for (size_t i = 0; i < writes.size(); ++i) {
    Entry* entry = walk.Next(log_);
    if (!BuildEntry(writes[i], entry, first + i)) return Status::Code::kOutOfMemory;
    max_sequence = std::max(max_sequence, writes[i].sequence);
    if (i == 0 || !trusted_sorted || kChecksTrust) {
      const int step = StepFrom(previous, *entry);
      if (step == 0) return Status::Code::kDuplicate;
      if (step > 0 && i > 0 && trusted_sorted) return Status::Code::kInvalidArgument;
      if (step > 0) {
        *built_count = i + 1;
        return SealBase();
      }
    }
    previous = entry;
  }
  ExtendBase(previous, writes.size(), max_sequence, walk);
  *done = true;
  return Status::Code::kOk;
}

// The first `built_count` entries have been built: building them twice would take twice what the budget was asked for.
Status TableState::AppendIndexed(std::span<const Write> writes, size_t built_count) {
  if (!IndexPending()) return Status::Code::kOutOfMemory;
  const uint64_t first = log_.writer_size();
  Sequence max_sequence = max_sequence_;
  LogWalk<Entry> walk = tail_;
  std::array<uint64_t, kBlock> hashes;
  for (size_t begin = 0; begin < writes.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, writes.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      Entry* entry = walk.Next(log_);
      if (begin + i >= built_count && !BuildEntry(writes[begin + i], entry, first + begin + i)) {
        AbandonIndexed(begin);
        return Status::Code::kOutOfMemory;
      }
      max_sequence = std::max(max_sequence, writes[begin + i].sequence);
      hashes[i] = HashOf(*entry);
      index_.Prefetch(hashes[i]);
    }
    for (size_t i = 0; i < count; ++i) {
      const Outcome outcome = IndexEntry(hashes[i], first + begin + i);
      if (IsDone(outcome)) [[likely]]
        continue;
      AbandonIndexed(begin + i);
      return FailureOf(outcome);
    }
  }
  max_sequence_ = max_sequence;
  // Release: pairs with FindPosition.
  indexed_count_.store(first + writes.size(), std::memory_order_release);
  Publish(writes.size(), walk);
  return Status::Code::kOk;
}

void TableState::ExtendBase(const Entry* last, uint64_t count, Sequence max_sequence, const LogWalk<Entry>& walk) {
  max_sequence_ = std::max(max_sequence_, max_sequence);
  base_max_sequence_.store(max_sequence_, std::memory_order_relaxed);
  last_in_base_ = last;
  // Release: pairs with base_count(). Before Publish, so that who sees the size sees at least this base.
  base_count_.store(log_.writer_size() + count, std::memory_order_release);
  Publish(count, walk);
}

// Ends the ascending stretch. A short one goes into the index, so that later reads need not look at it.
Status TableState::SealBase() {
  const uint64_t base_count = base_count_.load(std::memory_order_relaxed);
  if (base_count <= kMaxIndexedBase) {
    for (uint64_t position = 0; position < base_count; ++position) {
      // A try that was refused memory half-way has put some in already: those answer that they are there.
      const Outcome outcome = index_.Insert(HashOf(*log_.At(position)), static_cast<uint32_t>(position));
      if (outcome == Outcome::kOutOfMemory) return Status::Code::kOutOfMemory;
    }
    // Release: as below, and before the base is seen gone.
    indexed_count_.store(base_count, std::memory_order_release);
    // Release: pairs with base_count(); who sees the base gone sees the index.
    base_count_.store(0, std::memory_order_release);
  } else {
    // Release: pairs with FindPosition.
    indexed_count_.store(base_count, std::memory_order_release);
  }
  ascending_ = false;
  return Status::Code::kOk;
}

bool TableState::FindInBase(const Entry& entry) const {
  const uint64_t base_count = base_count_.load(std::memory_order_relaxed);
  const Sequence sequence = EntryFace::SequenceOf(entry);
  if (sequence > base_max_sequence_.load(std::memory_order_relaxed)) return false;
  const KeyOrder<EntryFace> order(log_);
  const SeekTarget target{.key = EntryFace::Key(entry), .sequence = sequence};
  const uint64_t index = order.LowerBoundInLog(base_count, target);
  return index < base_count && order.Compare(*log_.At(index), entry) == 0;
}

inline Outcome TableState::IndexEntry(uint64_t hash, uint64_t position) {
  if (base_count_.load(std::memory_order_relaxed) != 0 && FindInBase(*log_.At(position))) return Outcome::kDuplicate;
  return index_.Insert(hash, static_cast<uint32_t>(position));
}

// Indexes the entries that were let wait. False when memory is refused: those that are left go on waiting.
bool TableState::IndexPending() {
  const uint64_t end = log_.writer_size();
  uint64_t position = end - pending_count_;
  for (size_t i = 0; position < end; ++i, ++position) {
    const Outcome outcome = index_.Insert(pending_hashes_[i], static_cast<uint32_t>(position));
    assert(outcome != Outcome::kDuplicate);
    if (outcome != Outcome::kOutOfMemory) continue;
    std::copy(pending_hashes_.begin() + static_cast<ptrdiff_t>(i),
              pending_hashes_.begin() + static_cast<ptrdiff_t>(pending_count_), pending_hashes_.begin());
    break;
  }
  pending_count_ = end - position;
  // Release: pairs with FindPosition. In an ascending table nothing waits and the base tells what can be found.
  if (!ascending_) indexed_count_.store(position, std::memory_order_release);
  return pending_count_ == 0;
}

void TableState::Publish(uint64_t count, const LogWalk<Entry>& walk) {
  tail_ = walk;
  if (checksums_) checksums_->Publish(count);
  log_.Publish(count);
}

// A batch has failed after the index led to its first `count` entries. Readers may be looking at them, so their slots
// stay: marked dead, which no reader shows.
void TableState::AbandonIndexed(uint64_t count) {
  const uint64_t first = log_.writer_size();
  LogWalk<Entry> walk = tail_;
  for (uint64_t i = 0; i < count; ++i) {
    std::atomic<uint64_t>& tag = walk.Next(log_)->tag;
    tag.store(tag.load(std::memory_order_relaxed) | EntryFace::kDeadBit, std::memory_order_relaxed);
  }
  dead_count_.Add(count);
  // Release: pairs with FindPosition.
  indexed_count_.store(first + count, std::memory_order_release);
  Publish(count, walk);
}

}  // namespace strongbin
