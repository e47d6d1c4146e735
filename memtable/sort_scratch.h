// The contiguous room that a long sort needs, and nothing else of a table does.
#pragma once

#include <cstddef>
#include <utility>

namespace strongbin {

// Contiguous memory for one sort. Not from the pool and not among a table's bytes: it is counted apart.
//
// Owns its bytes while it lives. Afterwards the process keeps one block of at most kMaxKeptBytes for the next sort of
// any table, so that a store whose tables are filled and drained in turn pays for it once; the pressure hook of the
// process gives that block to the operating system, where what is larger, or smaller than the one that is kept, goes at
// once. Thread safety: Take from any thread; one scratch belongs to one thread. Move-only. When memory is refused: an
// empty scratch. Cost: a lock; a fresh block costs a page fault for each huge page where those are granted.
class SortScratch {
 public:
  static constexpr size_t kMaxKeptBytes = size_t{8} << 20;

  SortScratch() = default;
  // At least `bytes`, aligned to a huge page, holding anything.
  static SortScratch Take(size_t bytes);
  SortScratch(SortScratch&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  SortScratch& operator=(SortScratch&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~SortScratch();

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  SortScratch(void* data, size_t bytes) : data_(data), bytes_(bytes) {}

  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace strongbin
