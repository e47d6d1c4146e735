// Where all that a process can give back hangs together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "strongbin/pool/fork_guard.h"

namespace strongbin {

// Caches that can be dropped hang a function on the hook; who notices that memory is short calls it.
//
// The hook of the process knows every ChunkPool from the first moment; a store adds caches of its own, and calls the
// hook itself where it wants to. Owns the functions. Thread safety: all methods from any thread, also from within a
// function that the hook is calling. Functions run one after the other on the caller's thread, under no lock, caches
// before pools: what a cache drops may go to a pool. Usable in the child after fork().
class PressureHook {
 public:
  // Drops what it can and returns the bytes that it gave to the operating system; must not throw. It may use pools,
  // destroy tables, add and remove registrations, its own too, and call the hook, which does nothing then.
  using DropFunction = std::function<size_t()>;

  enum class Turn : uint8_t { kCaches, kPools };

  // Takes its function off the hook when it ends. Afterwards the function does not run: an end waits for a call that
  // is running on another thread (so the function must not wait for whoever ends the registration). Move-only. Must
  // not outlive the hook.
  class Registration {
   public:
    Registration() = default;
    Registration(Registration&& other) noexcept;
    Registration& operator=(Registration&& other) noexcept;
    ~Registration() { Reset(); }
    void Reset();

   private:
    friend class PressureHook;
    struct Entry;
    PressureHook* hook_ = nullptr;
    std::shared_ptr<Entry> entry_;
  };

  PressureHook();
  ~PressureHook();
  PressureHook(const PressureHook&) = delete;
  PressureHook& operator=(const PressureHook&) = delete;

  // The hook of the process: never destroyed.
  static PressureHook& Process();

  [[nodiscard]] Registration Add(DropFunction drop, Turn turn = Turn::kCaches);

  // Calls every function that was there when it began and still is. Returns the bytes given back; 0 when called from
  // within itself, or when another thread is already at it.
  size_t OnMemoryPressure();

  // Relaxed: numbers to look at.
  uint64_t call_count() const { return call_count_.load(std::memory_order_relaxed); }
  uint64_t returned_bytes() const { return returned_bytes_.load(std::memory_order_relaxed); }

 private:
  using Entry = Registration::Entry;

  std::shared_ptr<Entry> BeginNext(Turn turn, uint64_t* after, uint64_t up_to);
  void EndCurrent();
  void Remove(const std::shared_ptr<Entry>& entry);
  static void ForgetCallAfterFork(void* hook);

  std::atomic<uint64_t> call_count_{0};
  std::atomic<uint64_t> returned_bytes_{0};
  std::atomic<bool> running_{false};  // relaxed: keeps a second call away; what a call touches is guarded by the mutex

  std::mutex mutex_;
  // All below is guarded by mutex_.
  std::condition_variable call_ended_;
  std::vector<std::shared_ptr<Entry>> entries_;  // in the order they came
  uint64_t last_number_ = 0;
  const Entry* current_ = nullptr;
  std::thread::id current_thread_;

  ForkGuard fork_guard_;
};

}  // namespace strongbin
