// Bump allocation over pool chunks with a forward-only cursor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "strongbin/arena/chunk_list.h"
#include "strongbin/pool/chunk_supply.h"
#include "strongbin/pool/size_class.h"
#include "strongbin/stats/cell.h"

namespace strongbin {

struct MonotonicArenaOptions {
  // Where buffers come from; null: straight from the operating system and back to it, past any pool.
  // (The first such arena of a process is made before the process forks beside other threads, as ChunkPool::Default.)
  ChunkSupply* pool = nullptr;
  ChunkKind kind = ChunkKind::k_key;
  // No buffer is smaller; rounded up to a class, at most kMaxChunkBytes.
  size_t min_buffer_bytes = kMinChunkBytes;
  // Buffers taken together on the first allocation.
  size_t initial_buffer_count = 1;
};

// Hands out bytes that live until the next Reset, Release or Drop.
//
// Owns its buffers. Not thread-safe, but for reserved_bytes, peak_bytes, abandoned_bytes and buffers_examined, which
// any thread may call at any time. Lifetime: what Allocate returned stays valid and in place until Reset, Release, Drop
// or the destructor. When memory is refused: Allocate returns null and nothing has changed; a later call may succeed.
// Cost: a comparison and an addition; the number of buffers looked into does not grow with their number, since the
// search starts at the buffer that served last and never looks back. Idea: the forward-only cursor of a Go arena
// library (docs/architecture.md).
//
// Invariants: used <= reserved; bytes before the cursor's buffer are never handed out again before Reset; a request
// above the kLargestPart-th of the next buffer gets a buffer of its own, which leaves on Reset and does not move the
// cursor, unless Reserve has promised it room in that next buffer.
class MonotonicArena {
 public:
  // A request above this part of the next buffer gets one of its own: the cursor leaves less than that behind.
  static constexpr size_t kLargestPart = 4;
  // A new buffer is at most this part of what is held.
  static constexpr size_t kGrowthPart = 8;

  explicit MonotonicArena(const MonotonicArenaOptions& options = {});
  ~MonotonicArena();  // as Release
  MonotonicArena(const MonotonicArena&) = delete;
  MonotonicArena& operator=(const MonotonicArena&) = delete;

  // `bytes` uninitialised bytes at a multiple of `alignment` (a power of two, at most kMaxChunkBytes); null when memory
  // is refused or the sum overflows. Zero bytes give a valid pointer that may equal the next one.
  [[nodiscard]] char* Allocate(size_t bytes, size_t alignment = 1) {
    char* result = TryBump(bytes, alignment);
    return result != nullptr ? result : AllocateSlow(bytes, alignment);
  }

  // Makes sure that allocations of `total_bytes` in pieces of at most `largest_bytes`, alignment included, succeed
  // without memory from outside, until the next Reset, Release, Drop or Reserve. False when memory is refused; then
  // nothing has changed.
  [[nodiscard]] bool Reserve(size_t total_bytes, size_t largest_bytes);

  void Reset();    // rewinds the cursor and keeps the buffers
  void Release();  // empties the arena; buffers go to the pool (or to the operating system without one)
  void Drop();     // empties the arena; buffers go to the operating system

  size_t used_bytes() const;       // handed out, alignment gaps included
  size_t reserved_bytes() const;   // held
  size_t peak_bytes() const;       // highest reserved_bytes so far
  size_t abandoned_bytes() const;  // behind the cursor and never handed out, or beside a request in a buffer of its own
  uint64_t buffers_examined() const;
  size_t buffer_count() const;
  // The buffer that allocations are served from now, requests with a buffer of their own excepted; empty before the
  // first. And what is left of it.
  Chunk current_buffer() const { return next_ == nullptr ? Chunk{} : buffers_[next_index_ - 1]; }
  size_t left_bytes() const { return left_bytes_; }

  // The fast path of Allocate alone: null when the cursor's buffer has no room.
  char* TryBump(size_t bytes, size_t alignment) {
    const size_t gap = (0 - reinterpret_cast<uintptr_t>(next_)) & (alignment - 1);
    if (bytes > left_bytes_ || gap > left_bytes_ - bytes || next_ == nullptr) [[unlikely]]
      return nullptr;
    char* result = next_ + gap;
    next_ = result + bytes;
    left_bytes_ -= bytes + gap;
    return result;
  }

 protected:
  // What Allocate does when TryBump has failed.
  [[gnu::noinline]] char* AllocateSlow(size_t bytes, size_t alignment);

 private:
  size_t NextBufferBytes(size_t reserved_bytes) const;
  // Appends `count` buffers of `buffer_bytes`, all or none.
  [[nodiscard]] bool AddBuffers(size_t count, size_t buffer_bytes);
  char* AllocateAlone(size_t bytes, size_t alignment, size_t need_bytes);
  void EnterNextBuffer();
  void BookReserved(size_t bytes);
  // The cursor stands before all buffers that are held, and nothing is handed out or promised.
  void Rewind();
  // Forgets all buffers, then gives them back: nothing of the arena is touched after a chunk may be somebody else's.
  void Empty(ChunkFate fate);

  char* next_ = nullptr;
  size_t left_bytes_ = 0;

  ChunkSupply* const pool_;
  const ChunkKind kind_;
  const size_t min_buffer_bytes_;
  const size_t initial_buffer_count_;

  ChunkList buffers_;  // in the order in which the cursor enters them
  ChunkList alone_;    // buffers of a single request
  // buffers_[next_index_] is the one behind the cursor's; the cursor's own is the one before, if next_ is set.
  size_t next_index_ = 0;
  // Up to here Reserve has promised that whatever fits into a buffer may enter it, however large a part of it.
  size_t promised_end_ = 0;
  size_t unreached_bytes_ = 0;  // in buffers_[next_index_] and behind

  // used = reserved - left - abandoned - unreached: no count per allocation.
  Cell reserved_bytes_;
  Cell peak_bytes_;
  Cell abandoned_bytes_;
  Cell buffers_examined_;
};

}  // namespace strongbin
