// Bump allocation over pool chunks with a forward-only cursor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strongbin/pool/chunk_pool.h"

namespace strongbin {

struct MonotonicArenaOptions {
  // Where buffers come from; null: straight from the operating system and back to it, past any pool.
  ChunkPool* pool = nullptr;
  ChunkKind kind = ChunkKind::k_key;
  // The first buffers are at least this large; rounded up to a class, at most kMaxChunkBytes.
  size_t min_buffer_bytes = kMinChunkBytes;
  // Buffers taken together on the first allocation.
  size_t initial_buffer_count = 1;
};

// Hands out bytes that live until the next Reset, Release or Drop.
//
// Owns its buffers. Not thread-safe, but for reserved_bytes, peak_bytes, abandoned_bytes and buffers_examined, which any thread
// may call at any time.
// Lifetime: what Allocate returned stays valid and in place until Reset, Release, Drop or the destructor.
// When memory is refused: Allocate returns null and nothing has changed; a later call may succeed.
// Cost: a comparison and an addition; the number of buffers looked into does not grow with their number, since the search
// starts at the buffer that served last and never looks back. Idea: the forward-only cursor of a Go arena library
// (docs/architecture.md).
//
// Invariants: used <= reserved; bytes before the cursor's buffer are never handed out again before Reset; a request above a
// quarter of the next buffer gets a buffer of its own, which leaves on Reset and does not move the cursor.
class MonotonicArena {
 public:
  explicit MonotonicArena(const MonotonicArenaOptions& options = {});
  ~MonotonicArena();  // as Release
  MonotonicArena(const MonotonicArena&) = delete;
  MonotonicArena& operator=(const MonotonicArena&) = delete;

  // `bytes` uninitialised bytes at a multiple of `alignment` (a power of two, at most kMaxChunkBytes); null when memory is
  // refused or the sum overflows. Zero bytes give a valid pointer that may equal the next one.
  [[nodiscard]] char* Allocate(size_t bytes, size_t alignment = 1) {
    const size_t gap = (0 - reinterpret_cast<uintptr_t>(next_)) & (alignment - 1);
    if (bytes <= left_bytes_ && gap <= left_bytes_ - bytes && next_ != nullptr) [[likely]] {
      char* result = next_ + gap;
      next_ = result + bytes;
      left_bytes_ -= bytes + gap;
      return result;
    }
    return AllocateSlow(bytes, alignment);
  }

  // Makes sure that allocations of `total_bytes` in pieces of at most `largest_bytes`, alignment included, succeed without
  // memory from outside. False when memory is refused.
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

 private:
  [[gnu::noinline]] char* AllocateSlow(size_t bytes, size_t alignment);

  char* next_ = nullptr;
  size_t left_bytes_ = 0;
};

}  // namespace strongbin
