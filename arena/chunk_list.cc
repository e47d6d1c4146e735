#include "strongbin/arena/chunk_list.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace strongbin {

ChunkList::~ChunkList() { std::free(data_); }

bool ChunkList::ReserveMore(size_t count) {
  static_assert(std::is_trivially_copyable_v<Chunk>, "realloc moves chunks");
  constexpr size_t kMaxCount = SIZE_MAX / sizeof(Chunk) / 2;
  if (count <= capacity_ - size_) return true;
  if (count > kMaxCount - size_) return false;
  const size_t capacity = std::max({size_ + count, capacity_ * 2, size_t{4}});
  void* data = std::realloc(static_cast<void*>(data_), capacity * sizeof(Chunk));
  if (data == nullptr) return false;
  data_ = static_cast<Chunk*>(data);
  capacity_ = capacity;
  return true;
}

void ChunkList::Swap(ChunkList* other) {
  std::swap(data_, other->data_);
  std::swap(size_, other->size_);
  std::swap(capacity_, other->capacity_);
}

}  // namespace strongbin
