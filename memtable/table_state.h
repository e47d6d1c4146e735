// Everything one generation of a table holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "strongbin/arena/key_arena.h"
#include "strongbin/arena/value_arena.h"
#include "strongbin/memtable/append_log.h"
#include "strongbin/memtable/entry.h"
#include "strongbin/memtable/key_hash.h"
#include "strongbin/memtable/read_pin.h"
#include "strongbin/memtable/table_core.h"
#include "strongbin/memtable/types.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/pool/size_class.h"
#include "strongbin/stats/metrics.h"

namespace strongbin {

// What writes ask of one arena.
struct ArenaNeed {
  uint64_t piece_count = 0;
  uint64_t bytes = 0;
  uint64_t bytes_alone = 0;  // the same, if each piece that might get a chunk of its own does
  uint64_t largest_bytes = 0;

  void Add(uint64_t piece_bytes) {
    ++piece_count;
    bytes += piece_bytes;
    // Smaller ones share any buffer; larger ones than the largest class have exactly their size.
    const bool has_class = piece_bytes > kMinChunkBytes / MonotonicArena::kLargestPart && piece_bytes <= kMaxChunkBytes;
    bytes_alone += has_class ? ClassBytes(ClassFor(piece_bytes)) : piece_bytes;
    largest_bytes = std::max(largest_bytes, piece_bytes);
  }
};

// What writes ask of a table.
struct WriteNeed {
  uint64_t entry_count = 0;
  ArenaNeed keys = {};
  ArenaNeed values = {};
};

// One generation: entries from the first append to the reset. Replaced as a whole, so that a pin needs to name one
// object only.
//
// Owns all chunks of the generation. They go to the pool on destruction, or to the operating system after MakeCold.
// Thread safety: one writer at a time (Append*); reads beside it. Lifetime: entries and views of them stay in place as
// long as the state. When full or wrong: a Status, and readers see nothing of what was refused. Cost: as TableCore's,
// and a copy of keys and values.
class TableState final : public Pinnable {
 public:
  // `expected_keys`: how many distinct keys the index may prepare for.
  TableState(ChunkPool* pool, bool with_checksums, const Capacity& base_capacity, uint64_t expected_keys);
  ~TableState() override;

  // False: there was no memory for the list of checksums that was asked for, so the table must not be used.
  bool IsWhole(bool with_checksums) const { return !with_checksums || checksums_ != nullptr; }

  // ---- Writer ----

  // Appends all of `writes` or nothing. Views are valid arguments (sizes, sequences) already.
  Status Append(std::span<const Write> writes, bool trusted_sorted);
  // Room for a value that a later Append takes over as a borrowed one; null when memory is refused.
  char* AllocateValue(size_t bytes) { return values_.Allocate(bytes); }
  Status Reserve(const Capacity& capacity);
  // Whether writes of this size might bring the memory usage above `budget_bytes`.
  bool WouldPass(uint64_t budget_bytes, const WriteNeed& need) const;
  // Indexes what was let wait for it; see TableCore.
  bool IndexPending() { return core_.IndexPending(); }
  void MakeCold() { cold_ = true; }
  // The table ends, and no generation follows.
  void EndTable(PoolAtEnd at_end) { use_.SetAtEnd(at_end); }
  void AddTo(TableStats* stats) const;  // sets gauges, adds counters
  // Brings the statistics page up to date.
  void Report() { core_.ReportNow(); }

  // ---- Readers ----

  const TableCore<EntryFace>& core() const { return core_; }
  const AppendLog<Entry>& log() const { return log_; }
  bool ChecksumMatches(uint64_t position, const Entry& entry) const;

  // Never negative, though a reader may see a failed batch counted as dead before its slots are part of the log.
  uint64_t live_entry_count() const {
    const uint64_t all = log_.size(), dead = dead_count_.Load();
    return all > dead ? all - dead : 0;
  }
  size_t reserved_bytes() const {
    return keys_.reserved_bytes() + values_.reserved_bytes() + log_.reserved_bytes() +
           (checksums_ ? checksums_->reserved_bytes() : 0) + core_.reserved_bytes();
  }
  Capacity held() const { return {live_entry_count(), keys_.used_bytes(), values_.used_bytes()}; }  // writer
  uint64_t indexed_key_count() const { return core_.index().key_count(); }                          // writer

 private:
  using Outcome = TableCore<EntryFace>::Outcome;

  // Entries are built and then indexed in blocks, so that the cache lines of the index arrive while entries are copied.
  static constexpr size_t kBlock = 32;

  [[nodiscard]] bool EnsureRoom(uint64_t entry_count) {
    return log_.EnsureRoom(entry_count) && (!checksums_ || checksums_->EnsureRoom(entry_count));
  }
  [[nodiscard]] bool BuildEntry(const Write& write, Entry* slot, uint64_t position);
  template <class Arena>
  [[nodiscard]] static bool Refer(Arena* arena, const char* data, size_t size, ByteRef* ref);
  uint64_t IndexGrowth(uint64_t entry_count) const;
  static void AddWritersPart(const void* table_state, TableStats* stats);
  void AddWritersPart(TableStats* stats) const;
  Status AppendOne(const Write& write);
  Status AppendAscending(std::span<const Write> writes, bool trusted_sorted, bool* done, size_t* built_count);
  Status AppendIndexed(std::span<const Write> writes, size_t built_count);
  void Publish(uint64_t count, const LogWalk<Entry>& walk);
  void AbandonIndexed(uint64_t count);
  static uint32_t ChecksumOf(const Entry& entry) {
    const uint64_t tag = entry.tag.load(std::memory_order_relaxed) & ~EntryFace::kDeadBit;
    return ChecksumEntry(EntryFace::Key(entry), tag, entry.value.view());
  }

  const size_t first_key_buffer_bytes_;
  const size_t first_value_buffer_bytes_;
  bool cold_ = false;
  PoolUse use_;  // ends when all chunks below have gone back

  KeyArena keys_;
  ValueArena values_;
  AppendLog<Entry> log_;
  const std::unique_ptr<AppendLog<uint32_t>> checksums_;  // one for each entry; null when not wanted
  TableCore<EntryFace> core_;

  LogWalk<Entry> tail_;  // writer only: where the next entry goes
  Cell dead_count_;
};

}  // namespace strongbin
