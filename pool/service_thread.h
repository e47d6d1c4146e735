// The few threads that the library has of its own.
#pragma once

#include <functional>
#include <pthread.h>

namespace strongbin {

// A named thread that takes no signals.
//
// Owns the thread: Join (or Forget) comes before its end. Thread safety: one caller at a time. Lifetime: what `body`
// uses must outlive it. Where the system refuses a thread: an answer, never an exception.
class ServiceThread {
 public:
  ServiceThread() = default;
  ~ServiceThread();
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;

  // False: the system refuses. `name` has at most 15 characters.
  [[nodiscard]] bool Start(const char* name, std::function<void()> body);
  bool started() const { return started_; }
  // Waits for the end of the body; called on the thread itself, lets it go. Does nothing where none was started.
  void Join();
  // In a child after fork(), which does not have the thread.
  void Forget() { started_ = false; }

 private:
  bool started_ = false;
  pthread_t handle_{};
};

}  // namespace strongbin
