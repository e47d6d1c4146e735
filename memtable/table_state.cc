#include "strongbin/memtable/table_state.h"

#include <algorithm>

#include "strongbin/memtable/key_hash.h"
#include "strongbin/memtable/key_order.h"

namespace strongbin {

namespace {

// The first buffer of an arena that is expected to hold `expected_bytes`: a sixty-fourth, so that a table that then
// stays nearly empty wastes little.
size_t FirstBufferBytes(uint64_t expected_bytes) {
  const uint64_t bytes = std::clamp<uint64_t>(expected_bytes / 64, kMinChunkBytes, kMaxChunkBytes);
  return ClassBytes(ClassFor(bytes));
}

}  // namespace

TableState::TableState(ChunkPool* pool, bool with_checksums, const Capacity& base_capacity, uint64_t expected_keys)
    : first_key_buffer_bytes_(FirstBufferBytes(base_capacity.key_bytes)),
      first_value_buffer_bytes_(FirstBufferBytes(base_capacity.value_bytes)),
      keys_({.pool = pool, .min_buffer_bytes = first_key_buffer_bytes_}),
      values_({.pool = pool, .min_buffer_bytes = first_value_buffer_bytes_}),
      log_(pool, ChunkKind::k_log),
      checksums_(with_checksums ? new (std::nothrow) AppendLog<uint32_t>(pool, ChunkKind::k_log) : nullptr),
      index_(pool, log_, expected_keys),
      runs_(pool, log_) {}

TableState::~TableState() {
  if (!cold_) return;
  runs_.MakeCold();
  index_.Drop();
  if (checksums_) checksums_->Drop();
  log_.Drop();
  values_.Drop();
  keys_.Drop();
}

Status TableState::Reserve(const Capacity& capacity) {
  constexpr size_t kLargestPiece = 4096;
  if (capacity.entries > AppendLog<Entry>::kMaxSlots - log_.writer_size()) return Status::Code::kTooManyEntries;
  const bool done = EnsureRoom(capacity.entries) && keys_.Reserve(capacity.key_bytes, kLargestPiece) &&
                    values_.Reserve(capacity.value_bytes, kLargestPiece);
  return done ? Status::Code::kOk : Status::Code::kOutOfMemory;
}

bool TableState::ChecksumMatches(uint64_t position, const Entry& entry) const {
  return !checksums_ || *checksums_->At(position) == ChecksumOf(entry);
}

std::optional<uint32_t> TableState::FindPosition(std::string_view key, Sequence snapshot) const {
  const uint64_t prefix = KeyPrefix(key);
  std::optional<uint32_t> newest;
  const auto consider = [&](std::optional<uint32_t> position) {
    if (!position) return;
    if (!newest || EntryFace::SequenceOf(*log_.At(*position)) > EntryFace::SequenceOf(*log_.At(*newest)))
      newest = position;
  };
  // In this order: entries below indexed_count are in the base or the index once it is read, and a base that is read
  // after the size covers it as long as the table ascends.
  uint64_t indexed_count, end, base_count;
  do {
    // Acquire: the index is seen to lead to all entries below.
    indexed_count = indexed_count_.load(std::memory_order_acquire);
    end = log_.size();
    base_count = this->base_count();
    // More are left only when the writer has gone on between the two loads.
  } while (end > std::max(indexed_count, base_count) + kMaxPending);
  for (uint64_t position = std::max(indexed_count, base_count); position < end; ++position) {
    const Entry& entry = *log_.At(position);
    if (!EntryFace::HasKey(entry, key, prefix) || EntryFace::SequenceOf(entry) > snapshot) continue;
    if (!EntryFace::IsDead(entry)) consider(static_cast<uint32_t>(position));
  }
  if (!index_.empty()) consider(index_.Find(HashKey(key, hash_seed_), key, prefix, snapshot));
  if (base_count == 0) return newest;
  if (newest && EntryFace::SequenceOf(*log_.At(*newest)) > base_max_sequence_.load(std::memory_order_relaxed)) {
    return newest;
  }
  const uint64_t index = KeyOrder<EntryFace>(log_).LowerBoundInLog(base_count, {.key = key, .sequence = snapshot});
  if (index < base_count && EntryFace::Key(*log_.At(index)) == key) consider(static_cast<uint32_t>(index));
  return newest;
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
  const uint64_t checksum_bytes = checksums_ ? checksums_->writer_size() * sizeof(uint32_t) : 0;
  set(ChunkKind::k_log, log_.writer_size() * sizeof(Entry) + checksum_bytes,
      log_.reserved_bytes() + (checksums_ ? checksums_->reserved_bytes() : 0), dead_count_.Load() * sizeof(Entry));
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
