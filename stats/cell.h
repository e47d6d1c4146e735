// The live cell behind every counter and gauge.
#pragma once

#include <atomic>
#include <cstdint>

namespace strongbin {

// One 64-bit number that one thread at a time changes while any thread reads it.
//
// Owns nothing; 8 bytes, zero at first, may live in shared memory.
// Thread safety: Load from any thread at any time. Add, Sub, Set and RaiseTo only under the lock (or by the single
// writer) that guards what is counted; AddShared and RaiseToShared from any thread. Every access is relaxed: a cell
// orders nothing, it is a number to look at. Who needs cells that agree with each other takes the lock that their
// writers hold. Cost: a plain load and store; AddShared is one locked instruction.
class Cell {
 public:
  uint64_t Load() const { return value_.load(std::memory_order_relaxed); }
  void Set(uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  void Add(uint64_t amount) { Set(Load() + amount); }
  void Sub(uint64_t amount) { Set(Load() - amount); }
  void RaiseTo(uint64_t value) {
    if (value > Load()) Set(value);
  }
  void AddShared(uint64_t amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  void RaiseToShared(uint64_t value) {
    uint64_t now = Load();
    while (now < value && !value_.compare_exchange_weak(now, value, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace strongbin
