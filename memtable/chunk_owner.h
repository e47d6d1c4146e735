// Chunks of one kind that are held together and given back together.
#pragma once

#include <cstddef>

#include "strongbin/arena/chunk_list.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/stats/cell.h"

namespace strongbin {

// Takes chunks from one pool and owes them to it.
//
// Owns its chunks; the destructor releases them to the pool.
// Thread safety: one thread at a time; reserved_bytes from any thread at any time.
// When memory is refused: Add answers null and nothing has changed.
class ChunkOwner {
 public:
  ChunkOwner(ChunkPool* pool, ChunkKind kind) : pool_(pool), kind_(kind) {}
  ~ChunkOwner() { ChunkPool::Release(chunks_.From(0)); }
  ChunkOwner(const ChunkOwner&) = delete;
  ChunkOwner& operator=(const ChunkOwner&) = delete;

  // Takes one more chunk of at least `min_bytes`.
  [[nodiscard]] char* Add(size_t min_bytes) {
    if (!chunks_.ReserveMore(1)) return nullptr;
    const Chunk chunk = pool_->Acquire(min_bytes, kind_);
    if (!chunk) return nullptr;
    chunks_.Push(chunk);
    reserved_bytes_.Add(chunk.bytes);
    return chunk.data;
  }

  // Gives all chunks to the operating system.
  void Drop() {
    ChunkPool::Drop(chunks_.From(0));
    chunks_.Truncate(0);
    reserved_bytes_.Set(0);
  }

  size_t reserved_bytes() const { return reserved_bytes_.Load(); }

 private:
  ChunkPool* const pool_;
  const ChunkKind kind_;
  ChunkList chunks_;
  Cell reserved_bytes_;
};

}  // namespace strongbin
