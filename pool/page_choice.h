// Whether huge pages are worth their price on this machine, now.
#pragma once

#include <cstdint>

namespace strongbin {

// Of a pool that makes slabs ahead: what making one costs with huge and with small pages, and so which are made next.
//
// Huge pages save page faults and address translation, as long as the kernel has them at hand: it clears one in 0.1 to
// 0.3 ms. Where it must compact memory for one, or a hypervisor must find the memory behind it first, one costs 4 to 5
// ms, and 512 small pages from the kernel's lists of pieces 0.5 to 0.8 ms. (docs/benchmarks.md, "Memory made ahead".)
//
// A plain value; thread safety: none.
class PageChoice {
 public:
  // For the next slab that is made ahead, whose price Note will be told.
  bool WantsHuge() const {
    if (huge_ns_ == 0 || huge_ns_ <= kClearingNs) return true;
    if (small_ns_ == 0) return false;  // first the other price
    return small_ns_ >= huge_ns_ / 2 || small_in_a_row_ >= kSmallBetweenTries;
  }
  // `cpu_ns`: of the thread that made all pages of one slab.
  void Note(bool huge, uint64_t cpu_ns) {
    (huge ? huge_ns_ : small_ns_) = cpu_ns == 0 ? 1 : cpu_ns;
    small_in_a_row_ = huge ? 0 : small_in_a_row_ + 1;
  }

 private:
  // More than it takes to clear a huge page.
  static constexpr uint64_t kClearingNs = 1'000'000;
  // Prices change: once in so many slabs a dear huge page is tried again.
  static constexpr uint64_t kSmallBetweenTries = 64;

  // Of the last one; 0: none yet.
  uint64_t huge_ns_ = 0;
  uint64_t small_ns_ = 0;
  uint64_t small_in_a_row_ = 0;
};

}  // namespace strongbin
