#include "strongbin/pool/fork_guard.h"

#include <pthread.h>

namespace strongbin {

// All guards of the process. Never destroyed, since a pool may outlive every static object.
// Lock order: the list's mutex, then the guarded ones in list order. Nothing takes the list's mutex under a guarded
// one.
struct ForkGuardList {
  std::mutex mutex;
  ForkGuard* first = nullptr;

  static ForkGuardList& Get() {
    static ForkGuardList* const list = [] {
      auto* made = new ForkGuardList;
      pthread_atfork(&Prepare, &Parent, &Child);
      return made;
    }();
    return *list;
  }

  static void Prepare() {
    ForkGuardList& list = Get();
    list.mutex.lock();
    for (ForkGuard* guard = list.first; guard != nullptr; guard = guard->next_) guard->mutex_->lock();
  }

  static void Parent() {
    ForkGuardList& list = Get();
    for (ForkGuard* guard = list.first; guard != nullptr; guard = guard->next_) guard->mutex_->unlock();
    list.mutex.unlock();
  }

  static void Child() {
    for (ForkGuard* guard = Get().first; guard != nullptr; guard = guard->next_) guard->in_child_(guard->arg_);
    Parent();
  }
};

namespace {
[[gnu::constructor]] void MakeAtLoad() { static_cast<void>(ForkGuardList::Get()); }  // see fork_guard.h
}  // namespace

ForkGuard::ForkGuard(std::mutex* mutex, void (*in_child)(void*), void* arg)
    : mutex_(mutex), in_child_(in_child), arg_(arg) {
  ForkGuardList& list = ForkGuardList::Get();
  const std::lock_guard lock(list.mutex);
  next_ = list.first;
  if (next_ != nullptr) next_->prev_ = this;
  list.first = this;
}

ForkGuard::~ForkGuard() {
  ForkGuardList& list = ForkGuardList::Get();
  const std::lock_guard lock(list.mutex);
  (prev_ != nullptr ? prev_->next_ : list.first) = next_;
  if (next_ != nullptr) next_->prev_ = prev_;
}

}  // namespace strongbin
