// What arenas, logs and runs see of the place that their chunks come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "strongbin/stats/metrics.h"

namespace strongbin {

// Whole cache lines, and enough for any type of the language.
inline constexpr size_t kChunkAlignment = 64;
static_assert(kChunkAlignment >= alignof(std::max_align_t));

struct ChunkRecord;  // where the pool keeps what it knows of a chunk; never inside the chunk

// What a chunk is for; statistics only.
using ChunkKind = ChunkKindLabel;

// A block of memory on loan from a supply: all `bytes` from `data` on are usable and hold anything.
// A plain value; who holds it owes it to the supply exactly once. `data` is null in an empty chunk.
// `data` is aligned to at least kChunkAlignment.
struct Chunk {
  char* data = nullptr;
  size_t bytes = 0;
  ChunkRecord* record = nullptr;

  explicit operator bool() const { return data != nullptr; }
};

// What becomes of a chunk that is given back.
enum class ChunkFate : uint8_t {
  kReuse,  // kept for the next who asks, as far as the cap allows
  kDrop,   // to the operating system
};

// Lends chunks. A ChunkPool is one; others stand in front of a pool and watch or replace what comes from it.
//
// Must outlive what it has lent. Thread safety: all methods, from any thread. When memory is refused: an empty chunk.
// Cost: once per chunk, so a call through a virtual table is nothing.
class ChunkSupply {
 public:
  virtual ~ChunkSupply() = default;

  // A chunk that holds at least `min_bytes`.
  [[nodiscard]] virtual Chunk Acquire(size_t min_bytes, ChunkKind kind) = 0;

  // The caller must not touch the chunks afterwards. Empty chunks are passed over.
  virtual void TakeBack(std::span<const Chunk> chunks, ChunkFate fate) = 0;
};

}  // namespace strongbin
