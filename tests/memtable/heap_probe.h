// The heap of a test program, counted and refused. Programs that link heap_probe.cc have its operator new and
// aligned_alloc in place of the usual ones.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strongbin {

// How often this thread has called operator new so far.
uint64_t HeapNews();

// While it lives, this thread is refused what the library can do without. Not nestable.
class HeapRefusal {
 public:
  enum class Of : uint8_t {
    kChunks,      // std::aligned_alloc
    kAnything,    // and operator new of the kind that answers null
    kEverything,  // and the operator new that throws, and (but under sanitizers) realloc
  };
  // Grants `granted` requests before.
  explicit HeapRefusal(Of what, int64_t granted = 0);
  ~HeapRefusal();
  HeapRefusal(const HeapRefusal&) = delete;
  HeapRefusal& operator=(const HeapRefusal&) = delete;

  uint64_t refused_count() const;
};

}  // namespace strongbin
