// The heap of a test program, counted and refused. Programs that link heap_probe.cc have its operator new and
// aligned_alloc in place of the usual ones.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strongbin {

// How often this thread has called operator new so far.
uint64_t HeapNews();

// While it lives, this thread is refused what the library takes from the heap and can do without: all of
// std::aligned_alloc, and operator new of the kind that answers null. Not nestable.
class HeapRefusal {
 public:
  // Grants `granted` requests before.
  explicit HeapRefusal(int64_t granted = 0);
  ~HeapRefusal();
  HeapRefusal(const HeapRefusal&) = delete;
  HeapRefusal& operator=(const HeapRefusal&) = delete;

  uint64_t refused_count() const;
};

}  // namespace strongbin
