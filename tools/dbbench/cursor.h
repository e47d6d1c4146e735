// `dbbench cursor`: what an allocation costs behind many filled buffers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "strongbin/pool/size_class.h"
#include "strongbin/tools/dbbench/report.h"
#include "strongbin/tools/dbbench/selfcheck_tools.h"

namespace strongbin::dbbench {

// How many filled buffers lie before those that serve.
inline constexpr std::array<size_t, 3> kBuffersBehind = {10, 100, 1000};
// Small allocations that fit into what is left of the buffer they begin in; rounds to take a median of.
inline constexpr size_t kCursorAllocations = 45'000;
inline constexpr size_t kCursorBytes = 16;
inline constexpr int kCursorRounds = 21;

struct CursorCost {
  double ns = 0;  // per allocation
  uint64_t examined = 0;
};

// Small allocations behind `behind` filled buffers of the largest class, nothing copied.
template <class Arena>
CursorCost AllocateBehind(Arena& arena, size_t behind, size_t allocations) {
  while (arena.buffer_count() <= behind) {
    if (arena.Allocate(kMaxChunkBytes / 4) == nullptr) break;
  }
  const uint64_t before = arena.buffers_examined();
  const double start = ThreadNs();
  for (size_t n = 0; n < allocations; ++n) {
    char* allocated = arena.Allocate(kCursorBytes);
    asm volatile("" : : "r"(allocated) : "memory");
  }
  return {(ThreadNs() - start) / static_cast<double>(allocations), arena.buffers_examined() - before};
}

// The arena beside a walk that tries every buffer from the first on: allocations of 16 bytes behind 10, 100 and 1,000
// filled buffers, nothing copied, and a workload that grows from nothing. One row each; the notes say how many buffers
// were looked into.
Report RunCursor(const Config& config);

}  // namespace strongbin::dbbench
