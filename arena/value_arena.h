// The arena of value bytes.
#pragma once

#include <cstddef>

#include "strongbin/arena/monotonic_arena.h"

namespace strongbin {

// A MonotonicArena whose way to new buffers has a name of its own, so that profiles tell what values cost.
//
// Everything else is as in MonotonicArena: ownership, thread safety, lifetime, answers when memory is refused.
class ValueArena : public MonotonicArena {
 public:
  // `options.kind` is not looked at.
  explicit ValueArena(const MonotonicArenaOptions& options = {});

  [[nodiscard]] char* Allocate(size_t bytes, size_t alignment = 1) {
    char* result = TryBump(bytes, alignment);
    return result != nullptr ? result : AllocateSlow(bytes, alignment);
  }

 private:
  // The way of every allocation to new chunks for values; only Reserve, which takes them ahead, has another. Never
  // inlined, and no tail call, so that it stands in every stack.
  [[gnu::noinline]] char* AllocateSlow(size_t bytes, size_t alignment);
};

}  // namespace strongbin
