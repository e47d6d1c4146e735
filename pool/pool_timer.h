// The one thread that works for all pools: idle chunks decay, and slabs are made ahead of their use.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "strongbin/pool/fork_guard.h"
#include "strongbin/pool/service_thread.h"

namespace strongbin {

// Calls its clients when they want to be called.
//
// One for the process, never destroyed, since pools may outlive every static object. Its thread is started by the first
// client; it ends with the static objects of the program, or of the library that holds this code when that is unloaded.
// From then on nobody is called. After fork() the child has no thread until a client of the child asks for one; that
// thread then serves all clients. Thread safety: all methods from any thread, but Forget not from the client's own
// OnTimer. Needs no memory: the list goes through its clients.
class PoolTimer {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;

  class Client {
   public:
    // On the timer's thread, under no lock of the timer. Returns when to be called next, by NowNs.
    virtual uint64_t OnTimer() = 0;

   protected:
    virtual ~Client() = default;

   private:
    friend class PoolTimer;
    // Guarded by the timer's mutex.
    Client* next_client_ = nullptr;
    uint64_t due_ns_ = kNever;
  };

  static PoolTimer& Get();
  static uint64_t NowNs();

  // The client is called at `due_ns` or soon after, or earlier if that was wanted before. False: there is no thread and
  // none can be had.
  bool Serve(Client* client, uint64_t due_ns);
  // The client is not called any more; waits for a call that is running.
  void Forget(Client* client);

 private:
  struct StopAtExit {
    ~StopAtExit() { Get().Stop(); }
  };

  PoolTimer();
  void Run();
  void Stop();
  // Where the list leads to the client, or its end.
  Client** Find(const Client* client);
  static void ForgetThreadAfterFork(void* timer);

  std::mutex mutex_;
  // All below is guarded by mutex_.
  std::condition_variable changed_;
  Client* first_client_ = nullptr;
  const Client* running_ = nullptr;
  bool stopped_ = false;
  ServiceThread thread_;

  ForkGuard fork_guard_;
};

}  // namespace strongbin
