// The append log of the RocksDB face: encoded entries in arena chunks, and four bytes for each to find it by.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "strongbin/arena/key_arena.h"
#include "strongbin/memtable/append_log.h"
#include "strongbin/memtable/chunk_owner.h"
#include "strongbin/stats/cell.h"

namespace strongbin {

// The first byte of an encoded entry; how many there are stands in them.
struct EncodedEntry {
  char bytes[1];
};

// Entries are allocated, then filled by RocksDB, then appended, in any order. A handle of 31 bits names an entry from
// its allocation on: a chunk of the arena and an offset in it for the first kMaxNearChunks chunks; the number of a
// stored pointer for what lies elsewhere: further chunks, entries in a buffer of their own, bytes that came from
// outside.
//
// Owns its chunks, which come from the supply; an empty log holds none.
// Thread safety: one writer at a time (Allocate, Adopt, Append); readers beside it, as in AppendLog.
// Lifetime: entries stay in place until the destructor. When memory is refused: Allocate and Adopt answer so, and
// nothing has changed. Append cannot fail: its slot was taken by Allocate or Adopt.
// Cost: 4 bytes an entry, 12 for one that lies elsewhere. At is two loads.
class EncodedLog {
 public:
  using Slot = EncodedEntry;
  class Walk;

  static constexpr uint64_t kMaxSlots = AppendLog<uint32_t>::kMaxSlots;

  explicit EncodedLog(ChunkSupply* supply);
  ~EncodedLog();
  EncodedLog(const EncodedLog&) = delete;
  EncodedLog& operator=(const EncodedLog&) = delete;

  // ---- Writer ----

  struct Room {
    char* data = nullptr;  // null when memory is refused
    uint32_t handle = 0;
  };
  // Room for an entry of `bytes`, and for its slot in the log.
  [[nodiscard]] Room Allocate(size_t bytes);
  // A handle for an entry whose bytes somebody else keeps as long as this log, and room for its slot.
  [[nodiscard]] Room Adopt(char* data);
  // Puts an allocated entry at the end, for readers to see.
  void Append(uint32_t handle) {
    *handles_.At(handles_.writer_size()) = handle;
    appended_count_.Add(1);
    handles_.Publish(1);
  }
  uint64_t writer_size() const { return handles_.writer_size(); }

  // ---- Readers ----

  uint64_t size() const { return handles_.size(); }
  uint32_t HandleAt(uint64_t number) const { return *handles_.At(number); }
  [[gnu::always_inline]] const EncodedEntry* At(uint32_t handle) const {
    if (handle < kFirstFar) [[likely]] {
      // Acquire: the table is seen as it was when it was put here; the entry of this chunk was in it before the handle
      // was given out.
      const char* const* bases = bases_.load(std::memory_order_acquire);
      return reinterpret_cast<const EncodedEntry*>(bases[handle >> kOffsetBits] + (handle & kOffsetMask));
    }
    return AtFar(handle);
  }

  // ---- Measuring: any thread ----

  // All chunks of entries, but for the end of the newest one, where nothing has been yet. Never falls.
  size_t touched_bytes() const { return touched_bytes_.Load(); }
  // Only while no writer is at it.
  size_t used_bytes() const { return touched_bytes() - abandoned_bytes(); }
  size_t reserved_bytes() const { return arena_.reserved_bytes(); }
  size_t abandoned_bytes() const { return arena_.abandoned_bytes(); }
  uint64_t buffers_examined() const { return arena_.buffers_examined(); }
  size_t handle_used_bytes() const { return appended_count_.Load() * sizeof(uint32_t); }
  size_t handle_reserved_bytes() const;
  // Allocated and not appended: in the hands of a writer, or forgotten by RocksDB.
  uint64_t unappended_count() const {
    const uint64_t appended = appended_count_.Load(), allocated = allocated_count_.Load();
    return allocated > appended ? allocated - appended : 0;
  }

 private:
  static constexpr uint32_t kOffsetBits = 20;
  static constexpr uint32_t kOffsetMask = (uint32_t{1} << kOffsetBits) - 1;
  static_assert(kMaxChunkBytes <= size_t{1} << kOffsetBits);
  static constexpr uint32_t kMaxNearChunks = 1024;
  static constexpr uint32_t kFirstFar = kMaxNearChunks << kOffsetBits;
  static constexpr uint32_t kFirstTableChunks = kMinChunkBytes / sizeof(char*);

  const EncodedEntry* AtFar(uint32_t handle) const;
  [[nodiscard]] bool EnsureSlot();
  [[nodiscard]] Room AllocateSlow(size_t bytes);
  // Makes the arena's current buffer one that handles can name. False: there may be no more, or no memory.
  [[nodiscard]] bool EnterNearChunk();
  void NoteTouched() { touched_bytes_.Set(arena_.reserved_bytes() - arena_.left_bytes()); }

  ChunkSupply* const supply_;
  KeyArena arena_;
  AppendLog<uint32_t> handles_;

  // The arena's current buffer, if handles can name it.
  char* near_base_ = nullptr;
  uint32_t near_handle_ = 0;  // of its first byte
  uint32_t near_count_ = 0;
  uint32_t near_room_ = 0;  // chunks that the table of bases has room for
  std::atomic<const char* const*> bases_{nullptr};
  ChunkOwner tables_;  // tables of bases; outgrown ones stay for their readers
  std::atomic<AppendLog<const char*>*> far_{nullptr};

  Cell allocated_count_;
  Cell appended_count_;
  Cell touched_bytes_;  // one number, so that it is true at any time
};

// The entries of a log in the order in which they were appended. A plain value.
class EncodedLog::Walk {
 public:
  explicit Walk(uint64_t first = 0) : handles_(first) {}

  const EncodedEntry* Next(const EncodedLog& log) {
    handle_ = *handles_.Next(log.handles_);
    return log.At(handle_);
  }
  // Of the entry that Next has returned.
  uint32_t handle() const { return handle_; }

 private:
  LogWalk<uint32_t> handles_;
  uint32_t handle_ = 0;
};

}  // namespace strongbin
