// Reads that bring memory into the cache ahead of its use.
#pragma once

#include <atomic>

namespace strongbin {

// A read whose value nobody wants, and no prefetch instruction: where the translation of the address is not at hand a
// processor may drop a prefetch, or hold up what follows. Reads on which nothing depends go on side by side, so callers
// wake several places in a row. What is read must exist and not change, or be atomic.
inline void Wake(const char* byte) { static_cast<void>(*static_cast<const volatile char*>(byte)); }
template <class T>
void Wake(const std::atomic<T>& word) {
  static_cast<void>(word.load(std::memory_order_relaxed));  // only for its line
}

}  // namespace strongbin
