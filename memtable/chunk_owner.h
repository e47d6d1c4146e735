// Chunks of one kind that are held together and given back together.
#pragma once

#include <cstddef>

#include "strongbin/arena/chunk_list.h"
#include "strongbin/pool/chunk_supply.h"
#include "strongbin/stats/cell.h"

namespace strongbin {

// Takes chunks from one supply and owes them to it.
//
// Owns its chunks; the destructor gives them back for reuse.
// Thread safety: one thread at a time; reserved_bytes from any thread at any time.
// When memory is refused: Add answers null and nothing has changed.
class ChunkOwner {
 public:
  ChunkOwner(ChunkSupply* supply, ChunkKind kind) : supply_(supply), kind_(kind) {}
  ~ChunkOwner() { supply_->TakeBack(chunks_.From(0), ChunkFate::kReuse); }
  ChunkOwner(const ChunkOwner&) = delete;
  ChunkOwner& operator=(const ChunkOwner&) = delete;

  // Takes one more chunk of at least `min_bytes`.
  [[nodiscard]] char* Add(size_t min_bytes) {
    if (!chunks_.ReserveMore(1)) return nullptr;
    const Chunk chunk = supply_->Acquire(min_bytes, kind_);
    if (!chunk) return nullptr;
    chunks_.Push(chunk);
    reserved_bytes_.Add(chunk.bytes);
    return chunk.data;
  }

  // Gives all chunks to the operating system.
  void Drop() {
    supply_->TakeBack(chunks_.From(0), ChunkFate::kDrop);
    chunks_.Truncate(0);
    reserved_bytes_.Set(0);
  }

  size_t reserved_bytes() const { return reserved_bytes_.Load(); }

 private:
  ChunkSupply* const supply_;
  const ChunkKind kind_;
  ChunkList chunks_;
  Cell reserved_bytes_;
};

}  // namespace strongbin
