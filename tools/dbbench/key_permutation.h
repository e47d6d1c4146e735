// Numbers in an order that looks random and repeats none.
#pragma once

#include <cstdint>

namespace strongbin::dbbench {

// The number that gives 1 when multiplied by `odd`, modulo 2^64. Newton's iteration doubles the number of right low
// bits; five steps from 5 bits are enough.
constexpr uint64_t InverseOfOdd(uint64_t odd) {
  uint64_t x = (odd * 3) ^ 2;
  for (int i = 0; i < 5; ++i) x *= 2 - odd * x;
  return x;
}

// A bijection of the numbers below 2^bits, chosen by a seed, and its inverse.
//
// A plain value; any thread. Distinct keys in random order come from it without a table of what was taken.
// Cost: a few multiplications.
class KeyPermutation {
 public:
  // `bits` from 8 to 64, in steps of 8.
  KeyPermutation(unsigned bits, uint64_t seed)
      : mask_(bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1),
        shift_(bits / 2),
        offset_(Scramble(seed) & mask_) {}

  // Adding, multiplying by an odd number and folding the upper half onto the lower one are each a bijection.
  uint64_t Apply(uint64_t index) const {
    uint64_t x = (index + offset_) & mask_;
    for (int i = 0; i < kRounds; ++i) {
      x = (x * kMultiplier) & mask_;
      x ^= x >> shift_;
    }
    return x;
  }

  uint64_t Invert(uint64_t number) const {
    uint64_t x = number;
    for (int i = 0; i < kRounds; ++i) {
      x ^= x >> shift_;  // its own inverse, as the shift is half of the bits
      x = (x * kInverse) & mask_;
    }
    return (x - offset_) & mask_;
  }

  // Mixes all bits; a bijection of 64-bit numbers.
  static constexpr uint64_t Scramble(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

 private:
  static constexpr int kRounds = 3;
  static constexpr uint64_t kMultiplier = 0xd6e8feb86659fd93;
  static constexpr uint64_t kInverse = InverseOfOdd(kMultiplier);
  static_assert(kInverse * kMultiplier == 1);

  uint64_t mask_;
  unsigned shift_;
  uint64_t offset_;
};

}  // namespace strongbin::dbbench
