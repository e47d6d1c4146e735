#include "strongbin/tools/dbbench/alloc_counter.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DBBENCH_COUNTS_ALLOCATIONS 0
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DBBENCH_COUNTS_ALLOCATIONS 0
#endif
#if !defined(DBBENCH_COUNTS_ALLOCATIONS)
#define DBBENCH_COUNTS_ALLOCATIONS 1
#endif

namespace strongbin::dbbench {
namespace {
// Part of the program's own thread block, so that reaching it never allocates.
constinit thread_local AllocationCount thread_count;
}  // namespace

AllocationCount ThreadAllocations() { return thread_count; }
bool AllocationsAreCounted() { return DBBENCH_COUNTS_ALLOCATIONS == 1; }

}  // namespace strongbin::dbbench

#if DBBENCH_COUNTS_ALLOCATIONS
#include <cstddef>
#include <dlfcn.h>

namespace {

// The function of this name that would have been called without us: the C library's, or that of a preloaded allocator.
// free is not wrapped, so it belongs to the same one. Static initialisation here takes no lock that allocates, and
// dlsym allocates nothing when it finds the name.
template <class F>
F Next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

void Count(size_t bytes) {
  ++strongbin::dbbench::thread_count.calls;
  strongbin::dbbench::thread_count.bytes += bytes;
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) {
  static const auto next = Next<void* (*)(size_t)>("malloc");
  Count(bytes);
  return next(bytes);
}

void* calloc(size_t count, size_t bytes) {
  static const auto next = Next<void* (*)(size_t, size_t)>("calloc");
  Count(count * bytes);
  return next(count, bytes);
}

void* realloc(void* block, size_t bytes) {
  static const auto next = Next<void* (*)(void*, size_t)>("realloc");
  Count(bytes);
  return next(block, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  static const auto next = Next<void* (*)(size_t, size_t)>("aligned_alloc");
  Count(bytes);
  return next(alignment, bytes);
}

int posix_memalign(void** block, size_t alignment, size_t bytes) {
  static const auto next = Next<int (*)(void**, size_t, size_t)>("posix_memalign");
  Count(bytes);
  return next(block, alignment, bytes);
}

}  // extern "C"
#endif
