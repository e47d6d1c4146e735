// How entries get into a table: built in place, then made findable, then published.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "strongbin/memtable/table_state.h"
#include "strongbin/stats/test_points.h"

namespace strongbin {

namespace {

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

using Core = TableCore<EntryFace>;

Status FailureOf(Core::Outcome outcome) {
  return outcome == Core::Outcome::kDuplicate ? Status::Code::kDuplicate : Status::Code::kOutOfMemory;
}

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

Status TableState::Append(std::span<const Write> writes, bool trusted_sorted) {
  if (writes.empty()) return Status::Code::kOk;
  if (writes.size() > AppendLog<Entry>::kMaxSlots - log_.writer_size()) return Status::Code::kTooManyEntries;
  if (!EnsureRoom(writes.size())) return Status::Code::kOutOfMemory;
  if (writes.size() == 1) return AppendOne(writes[0]);
  if (core_.ascending()) {
    bool done = false;
    size_t built_count = 0;
    const Status status = AppendAscending(writes, trusted_sorted, &done, &built_count);
    if (done || !status.ok()) return status;
    return AppendIndexed(writes, built_count);
  }
  return AppendIndexed(writes, /*built_count=*/0);
}

Status TableState::AppendOne(const Write& write) {
  // Before anything is built, so that a refusal costs nothing.
  if (!core_.MakeRoomForOne()) return Status::Code::kOutOfMemory;
  const uint64_t position = log_.writer_size();
  LogWalk<Entry> walk = tail_;
  Entry* entry = walk.Next(log_);
  if (!BuildEntry(write, entry, position)) return Status::Code::kOutOfMemory;
  if (!core_.AddOne(*entry)) return Status::Code::kDuplicate;
  Publish(1, walk);
  return Status::Code::kOk;
}

// Extends the base if all writes ascend; otherwise ends it. `*done` says which, and `*built_count` how many entries
// then lie in their slots already.
Status TableState::AppendAscending(std::span<const Write> writes, bool trusted_sorted, bool* done,
                                   size_t* built_count) {
  const uint64_t first = log_.writer_size();
  Sequence max_sequence = 0;
  const Entry* previous = core_.last_in_base();
  LogWalk<Entry> walk = tail_;
  for (size_t i = 0; i < writes.size(); ++i) {
    Entry* entry = walk.Next(log_);
    if (!BuildEntry(writes[i], entry, first + i)) return Status::Code::kOutOfMemory;
    max_sequence = std::max(max_sequence, writes[i].sequence);
    if (i == 0 || !trusted_sorted || kChecksTrust) {
      const int step = core_.StepFrom(previous, *entry);
      if (step == 0) return Status::Code::kDuplicate;
      if (step > 0 && i > 0 && trusted_sorted) return Status::Code::kInvalidArgument;
      if (step > 0) {
        *built_count = i + 1;
        core_.SealBase();
        return Status::Code::kOk;
      }
    }
    previous = entry;
  }
  core_.ExtendBase(previous, writes.size(), max_sequence);
  Publish(writes.size(), walk);
  core_.ReportProgress();
  *done = true;
  return Status::Code::kOk;
}

// The first `built_count` entries have been built: building them twice would take twice what the budget was asked for.
Status TableState::AppendIndexed(std::span<const Write> writes, size_t built_count) {
  if (!core_.IndexPending()) return Status::Code::kOutOfMemory;
  const uint64_t first = log_.writer_size();
  Sequence max_sequence = 0;
  LogWalk<Entry> walk = tail_;
  std::array<uint64_t, kBlock> hashes;
  for (size_t begin = 0; begin < writes.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, writes.size() - begin);
    const LogWalk<Entry> block = walk;
    for (size_t i = 0; i < count; ++i) {
      Entry* entry = walk.Next(log_);
      if (begin + i >= built_count && !BuildEntry(writes[begin + i], entry, first + begin + i)) {
        AbandonIndexed(begin);
        return Status::Code::kOutOfMemory;
      }
      max_sequence = std::max(max_sequence, writes[begin + i].sequence);
      hashes[i] = core_.HashOf(*entry);
      core_.index().WakeLine(hashes[i]);
    }
    std::array<uint32_t, kBlock> matches;
    for (size_t i = 0; i < count; ++i) matches[i] = core_.index().MatchOf(hashes[i]);
    for (size_t i = 0; i < count; ++i) core_.index().WakeList(matches[i]);
    LogWalk<Entry> indexed = block;
    for (size_t i = 0; i < count; ++i) {
      const Outcome outcome = core_.IndexEntry(hashes[i], *indexed.Next(log_), log_.HandleAt(first + begin + i));
      if (Core::IsDone(outcome)) [[likely]]
        continue;
      AbandonIndexed(begin + i);
      return FailureOf(outcome);
    }
  }
  core_.SetIndexed(first + writes.size(), max_sequence);
  Publish(writes.size(), walk);
  core_.ReportProgress();
  return Status::Code::kOk;
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
    const uint64_t dead_bit = Mutated(Mutation::k_half_of_a_failed_batch_shown) ? 0 : EntryFace::kDeadBit;
    tag.store(tag.load(std::memory_order_relaxed) | dead_bit, std::memory_order_relaxed);
  }
  dead_count_.Add(count);
  core_.SetIndexed(first + count, /*max_sequence=*/0);
  Publish(count, walk);
}

}  // namespace strongbin
