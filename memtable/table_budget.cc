// What writes may take from the pool, never told too low, so that a hard budget holds.
#include <algorithm>
#include <bit>

#include "strongbin/memtable/table_state.h"

namespace strongbin {

namespace {

// What an arena may take for these pieces.
uint64_t GrowthOf(const MonotonicArena& arena, const ArenaNeed& need, size_t first_buffer_bytes) {
  if (need.piece_count == 0) return 0;
  const uint64_t reserved = arena.reserved_bytes();
  const uint64_t free_bytes = reserved - arena.used_bytes() - arena.abandoned_bytes();
  const auto buffer_beyond = [&](uint64_t held) {
    return std::clamp<uint64_t>(held / MonotonicArena::kGrowthPart, first_buffer_bytes, kMaxChunkBytes);
  };
  // Larger pieces get a chunk of their own.
  const bool is_shared = need.largest_bytes <= std::bit_floor(buffer_beyond(reserved)) / MonotonicArena::kLargestPart;
  if (need.piece_count == 1 && !is_shared) return need.bytes_alone;
  if (need.piece_count == 1) return need.bytes <= free_bytes ? 0 : buffer_beyond(reserved);
  const uint64_t bytes = is_shared ? need.bytes : need.bytes_alone;
  // Less than the kLargestPart-th of each buffer is left behind.
  const uint64_t spread_bytes = bytes + bytes / (MonotonicArena::kLargestPart - 1) + need.largest_bytes;
  if (is_shared && spread_bytes <= free_bytes) return 0;
  return spread_bytes + buffer_beyond(reserved + spread_bytes);
}

}  // namespace

uint64_t TableState::IndexGrowth(uint64_t entry_count) const {
  const uint64_t inserts = core_.InsertsAhead(entry_count);
  if (inserts == 0) return 0;
  // At worst every segment is doubled, or each key needs a new one.
  constexpr uint64_t kSegmentBytes = LookupIndex<EntryFace>::kMaxSegmentBytes;
  constexpr uint64_t kLeastDirectoryBytes = uint64_t{8} << 10;
  const uint64_t reserved = core_.index().reserved_bytes();
  const uint64_t segment_bytes = std::min(inserts * kSegmentBytes, reserved + core_.index().expected_segment_bytes()) +
                                 std::max(kLeastDirectoryBytes, core_.index().next_directory_bytes());
  // A version list begins with a head and two nodes; the highest nodes are rare enough to be covered by the many.
  constexpr uint64_t kMostListBytes = 192, kUsualListBytes = 64, kFew = 64;
  const uint64_t list_bytes = std::min(inserts, kFew) * kMostListBytes + inserts * kUsualListBytes;
  // The log of the lists takes an eighth of what it holds ahead.
  return segment_bytes + list_bytes + std::clamp<uint64_t>(reserved / 8, kMinChunkBytes, kMaxChunkBytes);
}

bool TableState::WouldPass(uint64_t budget_bytes, const WriteNeed& need) const {
  if (need.entry_count > AppendLog<Entry>::kMaxSlots - log_.writer_size()) return true;
  uint64_t usage = reserved_bytes() + log_.GrowthBytes(need.entry_count) + IndexGrowth(need.entry_count);
  if (checksums_) usage += checksums_->GrowthBytes(need.entry_count);
  // Each sum below stays small enough not to wrap.
  for (const ArenaNeed* arena : {&need.keys, &need.values}) {
    if (arena->bytes > budget_bytes || arena->bytes_alone > UINT64_MAX / 4) return true;
  }
  usage +=
      GrowthOf(keys_, need.keys, first_key_buffer_bytes_) + GrowthOf(values_, need.values, first_value_buffer_bytes_);
  return usage > budget_bytes;
}

}  // namespace strongbin
