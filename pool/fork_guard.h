// Keeps a mutex usable in the child after fork().
#pragma once

#include <mutex>

namespace strongbin {

// While it lives, fork() waits until `mutex` is free, so that the child never inherits it locked by a thread that it
// does not have. In the child, in_child(arg) runs with the mutex held.
//
// Thread safety: construction and destruction from any thread, not while holding `mutex`.
//
// It cannot help with a static that is made on first use: in the child nobody would end what another thread of the
// parent had begun to make, and the next use would wait for it. Such statics are made when the code is loaded as well,
// by a [[gnu::constructor]] MakeAtLoad beside them.
class ForkGuard {
 public:
  explicit ForkGuard(
      std::mutex* mutex, void (*in_child)(void*) = [](void*) {}, void* arg = nullptr);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

 private:
  friend struct ForkGuardList;

  std::mutex* const mutex_;
  void (*const in_child_)(void*);
  void* const arg_;
  ForkGuard* prev_ = nullptr;
  ForkGuard* next_ = nullptr;
};

}  // namespace strongbin
