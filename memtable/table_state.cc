#include "strongbin/memtable/table_state.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <new>

#include "strongbin/memtable/key_hash.h"
#include "strongbin/memtable/key_order.h"

namespace strongbin {

namespace {

// The first buffer of an arena that is expected to hold `expected_bytes`: a sixty-fourth, so that a table that then stays nearly
// empty wastes little.
size_t FirstBufferBytes(uint64_t expected_bytes) {
  return std::clamp<uint64_t>(expected_bytes / 64, kMinChunkBytes, kMaxChunkBytes);
}

// What a bump allocator with these numbers may take from the pool to serve `wanted_bytes`.
size_t GrowthFor(uint64_t wanted_bytes, size_t reserved_bytes, size_t used_bytes, size_t abandoned_bytes) {
  const size_t free_bytes = reserved_bytes - used_bytes - abandoned_bytes;
  if (wanted_bytes == 0 || wanted_bytes <= free_bytes) return 0;
  return wanted_bytes + std::clamp(reserved_bytes / 8, kMinChunkBytes, kMaxChunkBytes);
}

}  // namespace

TableState::TableState(ChunkPool* pool, bool with_checksums, const Capacity& expected)
    : with_checksums_(with_checksums),
      keys_({.pool = pool, .min_buffer_bytes = FirstBufferBytes(expected.key_bytes)}),
      values_({.pool = pool, .min_buffer_bytes = FirstBufferBytes(expected.value_bytes)}),
      log_(pool, ChunkKind::k_log),
      checksums_(pool, ChunkKind::k_log),
      index_(pool, log_),
      runs_(pool, log_) {}

TableState::~TableState() {
  if (!cold_) return;
  runs_.MakeCold();
  index_.Drop();
  checksums_.Drop();
  log_.Drop();
  values_.Drop();
  keys_.Drop();
}

bool TableState::EnsureRoom(uint64_t entry_count) {
  return log_.EnsureRoom(entry_count) && (!with_checksums_ || checksums_.EnsureRoom(entry_count));
}

Status TableState::Reserve(const Capacity& capacity) {
  constexpr size_t kLargestPiece = 4096;
  if (capacity.entries > AppendLog<Entry>::kMaxSlots - log_.writer_size()) return Status::Code::kTooManyEntries;
  const bool done = EnsureRoom(capacity.entries) && keys_.Reserve(capacity.key_bytes, kLargestPiece) &&
                    values_.Reserve(capacity.value_bytes, kLargestPiece);
  return done ? Status::Code::kOk : Status::Code::kOutOfMemory;
}

bool TableState::WouldPass(uint64_t budget_bytes, const Capacity& writes) const {
  uint64_t usage = reserved_bytes();
  if (log_.room() - log_.writer_size() < writes.entries) usage += writes.entries * sizeof(Entry) + log_.next_segment_bytes();
  usage += GrowthFor(writes.key_bytes, keys_.reserved_bytes(), keys_.used_bytes(), keys_.abandoned_bytes());
  usage += GrowthFor(writes.value_bytes, values_.reserved_bytes(), values_.used_bytes(), values_.abandoned_bytes());
  if (!ascending_) {
    // Two slots an entry, and at most one larger copy of a segment or a split.
    constexpr uint64_t kMaxSegmentBytes = uint64_t{34} << 10;
    const uint64_t wanted = writes.entries * 16 + std::min<uint64_t>(kMaxSegmentBytes, 2 * index_.reserved_bytes());
    usage += GrowthFor(wanted, index_.reserved_bytes(), index_.used_bytes(), index_.abandoned_bytes());
  }
  return usage > budget_bytes;
}

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
bool TableState::BuildEntry(const Write& write, uint64_t position) {
  const size_t key_bytes = write.key.size() + write.key_suffix.size();
  ByteRef key = ByteRef::Near(nullptr, key_bytes <= kInlineKeyBytes ? key_bytes : 0);
  char inline_key[kInlineKeyBytes] = {};
  if (key_bytes <= kInlineKeyBytes) {
    if (!write.key.empty()) std::memcpy(inline_key, write.key.data(), write.key.size());
    if (!write.key_suffix.empty()) {
      std::memcpy(inline_key + write.key.size(), write.key_suffix.data(), write.key_suffix.size());
    }
  } else {
    char* copy = keys_.Copy(write.key, write.key_suffix);
    if (copy == nullptr || !Refer(&keys_, copy, key_bytes, &key)) return false;
    std::memcpy(inline_key, copy, kInlineKeyBytes);
  }
  const char* value_data = write.value.data();
  if (write.value_mode == ValueMode::kCopy && !write.value.empty()) {
    value_data = values_.Copy(write.value);
    if (value_data == nullptr) return false;
  }
  ByteRef value = ByteRef::Near(nullptr, 0);
  if (!Refer(&values_, value_data, write.value.size(), &value)) return false;

  const uint64_t tag = EntryFace::MakeTag(write.sequence, write.kind);
  auto* entry = new (log_.At(position)) Entry{.tag = tag, .inline_key = {}, .key = key, .value = value};
  std::memcpy(entry->inline_key, inline_key, kInlineKeyBytes);
  if (with_checksums_) *checksums_.At(position) = ChecksumEntry(EntryFace::Key(*entry), tag, entry->value.view());
  return true;
}

bool TableState::ChecksumMatches(uint64_t position, const Entry& entry) const {
  if (!with_checksums_) return true;
  const uint64_t tag = entry.tag.load(std::memory_order_relaxed) & ~EntryFace::kDeadBit;
  return *checksums_.At(position) == ChecksumEntry(EntryFace::Key(entry), tag, entry.value.view());
}

Status TableState::Append(std::span<const Write> writes, bool trusted_sorted) {
  if (writes.empty()) return Status::Code::kOk;
  if (writes.size() > AppendLog<Entry>::kMaxSlots - log_.writer_size()) return Status::Code::kTooManyEntries;
  if (!EnsureRoom(writes.size())) return Status::Code::kOutOfMemory;
  if (ascending_) {
    bool done = false;
    const Status status = AppendAscending(writes, trusted_sorted, &done);
    if (done || !status.ok()) return status;
  }
  const uint64_t first = log_.writer_size();
  std::array<uint64_t, kBlock> hashes;
  for (size_t begin = 0; begin < writes.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, writes.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t position = first + begin + i;
      if (!BuildEntry(writes[begin + i], position)) {
        AbandonIndexed(begin);
        return Status::Code::kOutOfMemory;
      }
      hashes[i] = HashKey(EntryFace::Key(*log_.At(position)));
      index_.Prefetch(hashes[i]);
    }
    const Status status = IndexBlock(first + begin, {hashes.data(), count}, begin);
    if (!status.ok()) return status;
  }
  Publish(writes.size());
  return Status::Code::kOk;
}

// Extends the base if all writes ascend; otherwise ends it. `*done` says which. Entries that were built are built again then,
// which happens once in the life of a table.
Status TableState::AppendAscending(std::span<const Write> writes, bool trusted_sorted, bool* done) {
  const KeyOrder<EntryFace> order(log_);
  const uint64_t first = log_.writer_size();
  uint64_t max_sequence = base_max_sequence_.load(std::memory_order_relaxed);
  const Entry* previous = first == 0 ? nullptr : log_.At(first - 1);
  for (size_t i = 0; i < writes.size(); ++i) {
    if (!BuildEntry(writes[i], first + i)) return Status::Code::kOutOfMemory;
    const Entry* entry = log_.At(first + i);
    max_sequence = std::max(max_sequence, writes[i].sequence);
    if (previous != nullptr && (i == 0 || !trusted_sorted)) {
      const uint64_t prefix = EntryFace::Prefix(*entry), previous_prefix = EntryFace::Prefix(*previous);
      if (prefix <= previous_prefix) {
        const int step = prefix < previous_prefix ? 1 : order.Compare(*previous, *entry);
        if (step == 0) return Status::Code::kDuplicate;
        if (step > 0) return SealBase();
      }
    }
    assert(previous == nullptr || order.Compare(*previous, *entry) < 0);
    previous = entry;
  }
  base_max_sequence_.store(max_sequence, std::memory_order_relaxed);
  // Release: pairs with base_count(). Before Publish, so that who sees the size sees at least this base.
  base_count_.store(first + writes.size(), std::memory_order_release);
  Publish(writes.size());
  *done = true;
  return Status::Code::kOk;
}

// Ends the ascending stretch. A short one goes into the index, so that later reads need not look at it.
Status TableState::SealBase() {
  const uint64_t base_count = base_count_.load(std::memory_order_relaxed);
  if (base_count <= kMaxIndexedBase) {
    for (uint64_t position = 0; position < base_count; ++position) {
      // A try that was refused memory half-way has put some in already: those answer that they are there.
      const auto outcome =
          index_.Insert(HashKey(EntryFace::Key(*log_.At(position))), static_cast<uint32_t>(position));
      if (outcome == LookupIndex<EntryFace>::Outcome::kOutOfMemory) return Status::Code::kOutOfMemory;
    }
    // Release: pairs with base_count(); who sees the base gone sees the index.
    base_count_.store(0, std::memory_order_release);
  }
  ascending_ = false;
  return Status::Code::kOk;
}

bool TableState::IsInBase(const Entry& entry) const {
  const uint64_t base_count = base_count_.load(std::memory_order_relaxed);
  const Sequence sequence = EntryFace::SequenceOf(entry);
  if (base_count == 0 || sequence > base_max_sequence_.load(std::memory_order_relaxed)) return false;
  const KeyOrder<EntryFace> order(log_);
  const SeekTarget target{.key = EntryFace::Key(entry), .sequence = sequence};
  const uint64_t index = order.LowerBoundInLog(base_count, target);
  return index < base_count && order.Compare(*log_.At(index), entry) == 0;
}

Status TableState::IndexBlock(uint64_t first_position, std::span<const uint64_t> hashes, uint64_t already_indexed) {
  using Outcome = LookupIndex<EntryFace>::Outcome;
  for (size_t i = 0; i < hashes.size(); ++i) {
    const uint64_t position = first_position + i;
    const Outcome outcome = IsInBase(*log_.At(position))
                                ? Outcome::kDuplicate
                                : index_.Insert(hashes[i], static_cast<uint32_t>(position));
    if (outcome == Outcome::kNewKey || outcome == Outcome::kNewVersion) [[likely]]
      continue;
    AbandonIndexed(already_indexed + i);
    return outcome == Outcome::kDuplicate ? Status::Code::kDuplicate : Status::Code::kOutOfMemory;
  }
  return Status::Code::kOk;
}

void TableState::Publish(uint64_t count) {
  if (with_checksums_) checksums_.Publish(count);
  log_.Publish(count);
}

// A batch has failed after the index led to its first `count` entries. Readers may be looking at them, so their slots stay:
// marked dead, which no reader shows.
void TableState::AbandonIndexed(uint64_t count) {
  const uint64_t first = log_.writer_size();
  for (uint64_t i = 0; i < count; ++i) {
    std::atomic<uint64_t>& tag = log_.At(first + i)->tag;
    tag.store(tag.load(std::memory_order_relaxed) | EntryFace::kDeadBit, std::memory_order_relaxed);
  }
  dead_count_.Add(count);
  Publish(count);
}

std::optional<uint32_t> TableState::FindPosition(std::string_view key, Sequence snapshot) const {
  const uint64_t base_count = this->base_count();
  std::optional<uint32_t> found;
  if (!index_.empty()) found = index_.Find(HashKey(key), key, KeyPrefix(key), snapshot);
  if (base_count == 0) return found;
  const Sequence found_sequence = found ? EntryFace::SequenceOf(*log_.At(*found)) : 0;
  if (found && found_sequence > base_max_sequence_.load(std::memory_order_relaxed)) return found;
  const KeyOrder<EntryFace> order(log_);
  const uint64_t index = order.LowerBoundInLog(base_count, {.key = key, .sequence = snapshot});
  if (index == base_count || EntryFace::Key(*log_.At(index)) != key) return found;
  if (found && found_sequence > EntryFace::SequenceOf(*log_.At(index))) return found;
  return static_cast<uint32_t>(index);
}

void TableState::AddTo(TableStats* stats) const {
  const auto set = [stats](ChunkKind kind, size_t used, size_t reserved, size_t abandoned) {
    const auto i = static_cast<size_t>(kind);
    stats->used_bytes[i] = used;
    stats->reserved_bytes[i] = reserved;
    stats->abandoned_bytes[i] = abandoned;
    stats->peak_bytes[i] = std::max<uint64_t>(stats->peak_bytes[i], reserved);
  };
  set(ChunkKind::k_key, keys_.used_bytes(), keys_.reserved_bytes(), keys_.abandoned_bytes());
  set(ChunkKind::k_value, values_.used_bytes(), values_.reserved_bytes(), values_.abandoned_bytes());
  set(ChunkKind::k_log, log_.writer_size() * sizeof(Entry) + checksums_.writer_size() * sizeof(uint32_t),
      log_.reserved_bytes() + checksums_.reserved_bytes(), dead_count_.Load() * sizeof(Entry));
  set(ChunkKind::k_index, index_.used_bytes(), index_.reserved_bytes(), index_.abandoned_bytes());
  set(ChunkKind::k_run, runs_.used_bytes(), runs_.reserved_bytes(), 0);
  runs_.AddTo(stats);
  stats->entries = live_entry_count();
  stats->ascending_entries = base_count();
  stats->indexed_keys = index_.key_count();
  stats->longest_chain = std::max(stats->longest_chain, index_.longest_chain_slots());
  stats->buffers_examined += keys_.buffers_examined() + values_.buffers_examined() + index_.buffers_examined();
}

}  // namespace strongbin
