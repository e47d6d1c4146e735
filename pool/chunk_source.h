// Where the memory behind chunks comes from.
#pragma once

#include <cstddef>

namespace strongbin {

// Chunks of a class share mappings of this size, at a multiple of it: one huge page.
inline constexpr size_t kSlabBytes = size_t{2} << 20;
// No single system call gives back more than this, so that none holds the process's memory map for long.
inline constexpr size_t kGiveBackStepBytes = size_t{2} << 20;

// The operating system as the pool sees it; replaceable, so that tests can count and refuse.
//
// Owns nothing that it has handed out. Thread safety: all methods from any thread. The pool calls them outside its
// lock. When memory is refused: an answer, never an exception.
class ChunkSource {
 public:
  virtual ~ChunkSource() = default;

  // True: the pool maps slabs of kSlabBytes and carves chunks from them. False: one mapping for each chunk.
  virtual bool carves_slabs() const = 0;
  // Discard works on multiples of this, a power of two.
  virtual size_t page_bytes() const = 0;
  // `bytes` at a multiple of `alignment` (a power of two), or null. `huge_pages` asks for huge pages, false asks for
  // none.
  virtual void* Map(size_t bytes, size_t alignment, bool huge_pages) = 0;
  // Gives back what Map returned, whole. False: refused, and all of it is still there.
  virtual bool Unmap(void* ptr, size_t bytes) = 0;
  // Lets the memory leave the resident size; the addresses stay usable. False: refused, nothing has changed.
  virtual bool Discard(void* ptr, size_t bytes) = 0;
  // Makes all pages resident ahead of their use. Advice: without it, or where it is refused, each comes when touched.
  virtual void Populate(void*, size_t) {}
};

// mmap, munmap and madvise. What is given back leaves the resident size at once.
class MmapChunkSource : public ChunkSource {
 public:
  bool carves_slabs() const override { return true; }
  size_t page_bytes() const override;
  void* Map(size_t bytes, size_t alignment, bool huge_pages) override;
  bool Unmap(void* ptr, size_t bytes) override;
  bool Discard(void* ptr, size_t bytes) override;
  void Populate(void* ptr, size_t bytes) override;
};

// malloc and free, one for each chunk, so that allocation profilers see them. What free does with the pages is its
// business.
class MallocChunkSource : public ChunkSource {
 public:
  bool carves_slabs() const override { return false; }
  size_t page_bytes() const override { return 1; }
  void* Map(size_t bytes, size_t alignment, bool huge_pages) override;
  bool Unmap(void* ptr, size_t bytes) override;
  bool Discard(void* ptr, size_t bytes) override;
};

}  // namespace strongbin
