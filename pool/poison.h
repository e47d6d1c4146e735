// Marks memory that nobody may touch for AddressSanitizer; does nothing in other builds.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define STRONGBIN_POISON_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STRONGBIN_POISON_MEMORY 1
#endif
#endif

#ifdef STRONGBIN_POISON_MEMORY
#include <sanitizer/asan_interface.h>
#endif

namespace strongbin {

inline void PoisonMemory([[maybe_unused]] const void* ptr, [[maybe_unused]] size_t bytes) {
#ifdef STRONGBIN_POISON_MEMORY
  __asan_poison_memory_region(ptr, bytes);
#endif
}

inline void UnpoisonMemory([[maybe_unused]] const void* ptr, [[maybe_unused]] size_t bytes) {
#ifdef STRONGBIN_POISON_MEMORY
  __asan_unpoison_memory_region(ptr, bytes);
#endif
}

}  // namespace strongbin
