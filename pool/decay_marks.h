// When chunks became idle, without a time in each of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace strongbin {

// A few marks (time, pool tick) that tell from a chunk's tick how long it has been idle, a little less than it really
// has.
//
// A mark is set by the first chunk that becomes idle a period (an eighth of the decay time) after the mark before it.
// Invariant: what became idle between two marks did so within a period of the first of them. So a chunk leaves when it
// has been idle for the decay time at least, and nine eighths of it at most.
//
// Thread safety: none; guarded by the pool's mutex. Cost: constant; it allocates nothing.
class DecayMarks {
 public:
  uint64_t decay_ns() const { return decay_ns_; }  // 0: off

  // A new decay time. Chunks that are idle already count as idle from now on.
  void Restart(uint64_t decay_ns, uint64_t now_ns) {
    decay_ns_ = decay_ns;
    count_ = 0;
    if (decay_ns > 0) Push({now_ns, 0});
  }

  // A chunk becomes idle now, and gets a tick above `tick`.
  void Note(uint64_t now_ns, uint64_t tick) {
    if (decay_ns_ == 0) return;
    if (count_ == 0 || now_ns >= Newest().time_ns + period_ns()) Push({now_ns, tick});
  }

  // Chunks whose tick is at most this have been idle long enough; 0: none have. `tick` is the newest that was given.
  uint64_t TakeExpired(uint64_t now_ns, uint64_t tick) {
    uint64_t limit = 0;
    while (count_ > 0 && Deadline() <= now_ns) {
      first_ = (first_ + 1) % kMostMarks;
      --count_;
      limit = count_ > 0 ? marks_[first_].tick : tick;
    }
    return limit;
  }

  // When TakeExpired will have something to tell, if nothing becomes idle from now on; or the earliest time at which it
  // could, if something does.
  uint64_t NextExpiry(uint64_t now_ns) const { return count_ > 0 ? Deadline() : now_ns + decay_ns_ + period_ns(); }

 private:
  struct Mark {
    uint64_t time_ns;
    uint64_t tick;
  };
  static constexpr size_t kMarksPerDecay = 8;
  static constexpr size_t kMostMarks = 2 * kMarksPerDecay;

  uint64_t period_ns() const { return decay_ns_ / kMarksPerDecay; }
  uint64_t Deadline() const { return marks_[first_].time_ns + decay_ns_ + period_ns(); }
  Mark& Newest() { return marks_[(first_ + count_ - 1) % kMostMarks]; }

  // Full only where nobody has asked for long. Without the oldest mark its chunks leave with the next one's.
  void Push(const Mark& mark) {
    if (count_ == kMostMarks) {
      first_ = (first_ + 1) % kMostMarks;
      --count_;
    }
    ++count_;
    Newest() = mark;
  }

  uint64_t decay_ns_ = 0;
  std::array<Mark, kMostMarks> marks_{};
  size_t first_ = 0;
  size_t count_ = 0;
};

}  // namespace strongbin
