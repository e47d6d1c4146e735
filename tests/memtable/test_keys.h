// Keys, values and sizes for tests of the memtable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "strongbin/tests/test_scale.h"

namespace strongbin {

using Random = std::mt19937_64;

// A number in [0, bound).
inline uint64_t Below(Random* random, uint64_t bound) { return (*random)() % bound; }
inline bool OneIn(Random* random, uint64_t chance) { return Below(random, chance) == 0; }

// STRONGBIN_TEST_SCALE=wide runs more seeds and longer histories.
inline bool WideTests() { return TestScale(0, 1) != 0; }

// Sanitizers and line counts make everything several times slower; what a test must still cross is said where the
// number is used.
inline constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;
constexpr uint64_t Scaled(uint64_t full, uint64_t watched) { return kSanitized || kLinesCounted ? watched : full; }

// `number` in big-endian decimal order, `bytes` long (at least 8).
inline std::string NumberKey(uint64_t number, size_t bytes = 16) {
  std::string key(bytes, '0');
  for (size_t i = bytes; i > 0 && number > 0; --i, number /= 10) key[i - 1] = static_cast<char>('0' + number % 10);
  return key;
}

// A permutation of the numbers: different numbers give different results.
inline uint64_t Scramble(uint64_t number) {
  number *= 0x9E3779B97F4A7C15;
  number ^= number >> 32;
  return number * 0xD6E8FEB86659FD93;
}

// Keys of 0 to 9 bytes over an alphabet with the lowest and highest byte, and some long ones.
inline std::string RandomKey(Random* random, bool with_huge) {
  constexpr char kAlphabet[] = {'\x00', '\x01', 'a', 'b', '\x7F', '\x80', '\xFF'};
  const auto tail = [&](size_t bytes, std::string key = {}) {
    while (bytes-- > 0) key += kAlphabet[Below(random, sizeof(kAlphabet))];
    return key;
  };
  const uint64_t style = Below(random, 100);
  if (style < 70) return tail(Below(random, 10));
  if (style < 80) return tail(4, "sixteen-byte");
  if (style < 90) return tail(16, std::string(64, 's'));
  if (style < 99 || !with_huge) return tail(Below(random, 40), "table");
  return tail(2, std::string(70'000, 'h'));
}

inline std::string RandomValue(Random* random, bool with_huge) {
  constexpr size_t kBytes[] = {0, 1, 8, 100, 1000};
  constexpr size_t kHugeBytes[] = {65'534, 65'535, 65'536, (size_t{1} << 20) + 1};
  const size_t bytes = with_huge && OneIn(random, 64) ? kHugeBytes[Below(random, 4)] : kBytes[Below(random, 5)];
  return std::string(bytes, static_cast<char>('a' + Below(random, 26)));
}

}  // namespace strongbin
