// Sorted runs: the order of a stretch of the log, as 16-byte records in pool chunks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "strongbin/memtable/chunk_owner.h"
#include "strongbin/memtable/ref_ptr.h"
#include "strongbin/pool/size_class.h"

namespace strongbin {

// Twelve bytes of a key, behind what all keys of the run have in common, and the entry's handle. Compared as one
// 128-bit number; records that agree in the twelve bytes need a look at the keys.
struct RunRecord {
  __extension__ using Bits = unsigned __int128;
  static constexpr size_t kKeyBytes = 12;

  uint64_t rest;    // four bytes behind the prefix's, big-endian, above 32 bits of handle
  uint64_t prefix;  // eight bytes, big-endian

  uint32_t handle() const { return static_cast<uint32_t>(rest); }
  Bits bits() const { return (Bits{prefix} << 64) | rest; }
  // The part that comes from the key.
  Bits key_bits() const { return bits() >> 32; }
  RunRecord WithHandle(uint32_t other) const { return {.rest = (rest >> 32 << 32) | other, .prefix = prefix}; }
};
static_assert(sizeof(RunRecord) == 16);

// What all runs and deltas of one table share: where their memory comes from and how much it is.
struct RunSpace {
  ChunkSupply* supply;
  std::atomic<bool> cold{false};            // relaxed: set by the owner before it lets go of the last run
  std::atomic<uint64_t> reserved_bytes{0};  // relaxed: a number to look at
};

// The chunks of one run or delta, counted in its space.
//
// Owns them: they go to the pool, or to the operating system when the table was dropped cold. Thread safety: one thread
// at a time. When memory is refused: Add answers null.
class RunMemory {
 public:
  explicit RunMemory(RunSpace* space) : space_(space), chunks_(space->supply, ChunkKind::k_run) {}
  ~RunMemory();

  [[nodiscard]] char* Add(size_t min_bytes);
  size_t reserved_bytes() const { return chunks_.reserved_bytes(); }

 private:
  RunSpace* const space_;
  ChunkOwner chunks_;
};

// An immutable sequence of records in order.
//
// Owns its chunks, which go back with the last reference. Thread safety: written by its maker alone (Append, Room,
// AppendAll), then shared and read-only. Lifetime: records stay in place as long as the run. When memory is refused:
// Make answers null, Append, ReserveAll and AppendAll false, and the run is of no further use. Cost: constant for each
// record; 16 bytes of memory.
class SortedRun : public RefCounted<SortedRun> {
 public:
  static constexpr size_t kChunkRecords = kMaxChunkBytes / sizeof(RunRecord);

  // Null when memory is refused. `expected_size` bounds what will be appended.
  static RefPtr<SortedRun> Make(RunSpace* space, size_t skip_bytes, uint64_t expected_size);

  uint64_t size() const { return size_; }
  // Bytes at the start of every key that the records leave out; the same bytes in every key.
  size_t skip_bytes() const { return skip_bytes_; }
  const RunRecord& At(uint64_t index) const { return chunks_[index / kChunkRecords][index % kChunkRecords]; }

  [[nodiscard]] bool Append(const RunRecord& record) {
    if (size_ == room_ && !AddChunk()) return false;
    chunks_[size_ / kChunkRecords][size_ % kChunkRecords] = record;
    ++size_;
    return true;
  }
  // Room for all records that are expected, for Room to give out.
  [[nodiscard]] bool ReserveAll();
  // Where the record with this index is, or will be once it has been appended; until then to be used at will, up to the
  // next multiple of kChunkRecords.
  RunRecord* Room(uint64_t index) { return &chunks_[index / kChunkRecords][index % kChunkRecords]; }
  // Appends `count` records, which may lie in Room(0) already where one chunk holds all that are expected.
  [[nodiscard]] bool AppendAll(const RunRecord* records, uint64_t count);
  // Nothing more will be appended. Makes RangeOf fast, if there is memory for it.
  void Finish();

  // Records below `first` come before every key whose eight bytes behind skip_bytes() are `prefix`, those from `end` on
  // behind: 64 records or so, unless more share the prefix.
  struct Range {
    uint64_t first, end;
  };
  Range RangeOf(uint64_t prefix) const;

 private:
  friend class RefCounted<SortedRun>;
  SortedRun(RunSpace* space, size_t skip_bytes, uint64_t expected_size)
      : skip_bytes_(skip_bytes), expected_size_(expected_size), memory_(space) {}
  ~SortedRun();

  // So that all samples together fit a small part of the second-level cache: at most 16 Ki.
  static constexpr uint64_t kMaxSamples = uint64_t{16} << 10;
  static constexpr uint64_t kMinSampleStride = 64;

  bool AddChunk();

  const size_t skip_bytes_;
  const uint64_t expected_size_;
  uint64_t size_ = 0;
  uint64_t room_ = 0;
  RunRecord** chunks_ = nullptr;  // one pointer for each 1 MiB
  size_t chunk_count_ = 0;
  // The prefixes of every sample_stride_-th record; none in a short run.
  std::span<const uint64_t> samples_;
  uint64_t sample_stride_ = 0;
  RunMemory memory_;
};

}  // namespace strongbin
