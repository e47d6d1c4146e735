// A growing array of chunks whose growth can be refused.
#pragma once

#include <cstddef>
#include <span>

#include "strongbin/pool/chunk_supply.h"

namespace strongbin {

// The list of an arena's buffers. Owns its array, not the chunks in it.
// Thread safety: none. When memory is refused: an answer, and nothing has changed; std::vector would throw instead.
// Cost: amortised constant; nothing while empty.
class ChunkList {
 public:
  ChunkList() = default;
  ~ChunkList();
  ChunkList(const ChunkList&) = delete;
  ChunkList& operator=(const ChunkList&) = delete;

  size_t size() const { return size_; }
  Chunk& operator[](size_t index) { return data_[index]; }
  const Chunk& operator[](size_t index) const { return data_[index]; }
  std::span<Chunk> From(size_t index) { return std::span(data_, size_).subspan(index); }

  // Makes sure that `count` more can be pushed.
  [[nodiscard]] bool ReserveMore(size_t count);
  // After ReserveMore.
  void Push(const Chunk& chunk) { data_[size_++] = chunk; }
  void Truncate(size_t size) { size_ = size; }
  void Swap(ChunkList* other);

 private:
  Chunk* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace strongbin
