#include "strongbin/pool/service_thread.h"

#include <cassert>
#include <csignal>
#include <memory>
#include <new>
#include <utility>

namespace strongbin {
namespace {

void* RunBody(void* body) {
  const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(body));
  (*owned)();
  return nullptr;
}

}  // namespace

ServiceThread::~ServiceThread() { assert(!started_); }

bool ServiceThread::Start(const char* name, std::function<void()> body) {
  assert(!started_);
  std::unique_ptr<std::function<void()>> owned(new (std::nothrow) std::function<void()>(std::move(body)));
  if (owned == nullptr) return false;
  // The new thread inherits this mask. Signals are for threads of the program.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&handle_, nullptr, &RunBody, owned.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return false;
  static_cast<void>(owned.release());
  pthread_setname_np(handle_, name);
  started_ = true;
  return true;
}

void ServiceThread::Join() {
  if (!started_) return;
  started_ = false;
  if (pthread_equal(pthread_self(), handle_) != 0) {
    pthread_detach(handle_);
  } else {
    pthread_join(handle_, nullptr);
  }
}

}  // namespace strongbin
