#include "strongbin/tests/memtable/heap_probe.h"

#include <cstdlib>
#include <dlfcn.h>
#include <new>

namespace {

struct ThreadState {
  uint64_t news = 0;
  bool refuses_chunks = false;
  bool refuses_news = false;
  bool refuses_all = false;
  int64_t granted = 0;
  uint64_t refused = 0;
};
// Plain old data: usable from the first allocation of a thread to its last.
thread_local constinit ThreadState t_state;

bool IsRefused(bool refuses) {
  if (!refuses || t_state.granted-- > 0) return false;
  ++t_state.refused;
  return true;
}

}  // namespace

void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++t_state.news;
  return IsRefused(t_state.refuses_news) ? nullptr : std::malloc(bytes);
}
void* operator new(size_t bytes) {
  ++t_state.news;
  if (IsRefused(t_state.refuses_all)) throw std::bad_alloc();
  if (void* data = std::malloc(bytes)) return data;
  throw std::bad_alloc();
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, size_t) noexcept { std::free(data); }
void operator delete(void* data, const std::nothrow_t&) noexcept { std::free(data); }

extern "C" void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  using Function = void* (*)(size_t, size_t);
  static const Function next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "aligned_alloc"));
  return IsRefused(t_state.refuses_chunks) ? nullptr : next(alignment, bytes);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
// Sanitizers start threads through realloc, before a function of ours may run in them.
extern "C" void* realloc(void* data, size_t bytes) noexcept {
  using Function = void* (*)(void*, size_t);
  static const Function next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "realloc"));
  return IsRefused(t_state.refuses_all) ? nullptr : next(data, bytes);
}
#endif

namespace strongbin {

uint64_t HeapNews() { return t_state.news; }

HeapRefusal::HeapRefusal(Of what, int64_t granted) {
  t_state.refuses_chunks = true;
  t_state.refuses_news = what != Of::kChunks;
  t_state.refuses_all = what == Of::kEverything;
  t_state.granted = granted;
  t_state.refused = 0;
}
HeapRefusal::~HeapRefusal() { t_state.refuses_chunks = t_state.refuses_news = t_state.refuses_all = false; }
uint64_t HeapRefusal::refused_count() const { return t_state.refused; }

}  // namespace strongbin
