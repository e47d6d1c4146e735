#include "strongbin/memtable/table_state.h"

#include <algorithm>

#include "strongbin/memtable/key_hash.h"

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
      use_(pool),
      keys_({.pool = pool, .min_buffer_bytes = first_key_buffer_bytes_}),
      values_({.pool = pool, .min_buffer_bytes = first_value_buffer_bytes_}),
      log_(pool, ChunkKind::k_log),
      checksums_(with_checksums ? new (std::nothrow) AppendLog<uint32_t>(pool, ChunkKind::k_log) : nullptr),
      core_(pool, log_, expected_keys, &AddWritersPart, this) {}

TableState::~TableState() {
  core_.EndReport();
  if (!cold_) return;
  core_.Drop();
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

void TableState::AddTo(TableStats* stats) const {
  AddWritersPart(this, stats);
  core_.AddRunsTo(stats);
}

void TableState::AddWritersPart(const void* table_state, TableStats* stats) {
  static_cast<const TableState*>(table_state)->AddWritersPart(stats);
}

void TableState::AddWritersPart(TableStats* stats) const {
  SetKindBytes(stats, ChunkKind::k_key, keys_.used_bytes(), keys_.reserved_bytes(), keys_.abandoned_bytes());
  SetKindBytes(stats, ChunkKind::k_value, values_.used_bytes(), values_.reserved_bytes(), values_.abandoned_bytes());
  const uint64_t checksum_bytes = checksums_ ? checksums_->writer_size() * sizeof(uint32_t) : 0;
  SetKindBytes(stats, ChunkKind::k_log, log_.writer_size() * sizeof(Entry) + checksum_bytes,
               log_.reserved_bytes() + (checksums_ ? checksums_->reserved_bytes() : 0),
               dead_count_.Load() * sizeof(Entry));
  core_.AddIndexTo(stats);
  stats->entries = live_entry_count();
  stats->appended_entries += live_entry_count();
  stats->buffers_examined += keys_.buffers_examined() + values_.buffers_examined();
}

}  // namespace strongbin
