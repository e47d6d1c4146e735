#include "strongbin/pool/chunk_source.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace strongbin {
namespace {

void* MapAnonymous(size_t bytes) {
  void* ptr = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return ptr == MAP_FAILED ? nullptr : ptr;
}

// Maps more than is needed and cuts off what lies before and behind the aligned part.
void* MapAligned(size_t bytes, size_t alignment) {
  // Mostly right at the first try, since the kernel puts mappings side by side.
  void* exact = MapAnonymous(bytes);
  if (exact == nullptr || reinterpret_cast<uintptr_t>(exact) % alignment == 0) return exact;
  munmap(exact, bytes);

  char* wide = static_cast<char*>(MapAnonymous(bytes + alignment));
  if (wide == nullptr) return nullptr;
  const size_t before = (0 - reinterpret_cast<uintptr_t>(wide)) & (alignment - 1);
  if (before > 0) munmap(wide, before);
  munmap(wide + before + bytes, alignment - before);
  return wide + before;
}

}  // namespace

size_t MmapChunkSource::page_bytes() const { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

void* MmapChunkSource::Map(size_t bytes, size_t alignment, bool huge_pages) {
  const size_t page = page_bytes();
  if (bytes > SIZE_MAX / 2) return nullptr;
  const size_t mapped_bytes = (bytes + page - 1) & ~(page - 1);
  void* ptr = MapAligned(mapped_bytes, std::max(alignment, page));
  // Advice only: a kernel without huge pages refuses it, and nothing is lost.
  if (ptr != nullptr) madvise(ptr, mapped_bytes, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return ptr;
}

bool MmapChunkSource::Unmap(void* ptr, size_t bytes) {
  char* const begin = static_cast<char*>(ptr);
  for (size_t done = 0; done < bytes;) {
    const size_t step = std::min(bytes - done, kGiveBackStepBytes);
    if (munmap(begin + done, step) != 0) {
      // munmap fails where it would have to split a mapping and there may be no more of them; that can only be the
      // first step. Should a later one fail all the same, its pages leave and its addresses are lost.
      if (done == 0) return false;
      madvise(begin + done, step, MADV_DONTNEED);
    }
    done += step;
  }
  return true;
}

bool MmapChunkSource::Discard(void* ptr, size_t bytes) { return madvise(ptr, bytes, MADV_DONTNEED) == 0; }

void MmapChunkSource::Populate(void* ptr, size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  constexpr int kAdvice = MADV_POPULATE_WRITE;
#else
  constexpr int kAdvice = 23;  // its number since Linux 5.14, which older C libraries do not name
#endif
  madvise(ptr, bytes, kAdvice);
}

void* MallocChunkSource::Map(size_t bytes, size_t alignment, bool) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
}

bool MallocChunkSource::Unmap(void* ptr, size_t) {
  std::free(ptr);
  return true;
}

bool MallocChunkSource::Discard(void*, size_t) { return false; }

}  // namespace strongbin
