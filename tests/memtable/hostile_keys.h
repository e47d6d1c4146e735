// Sets of keys chosen against what a memtable does with keys: it hashes them, compares the bytes that follow what all
// share, and keeps some bytes beside the entry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "strongbin/memtable/key_hash.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {

inline constexpr size_t kHostileKeyBytes = 40;

struct KeySet {
  const char* name;
  std::vector<std::string> keys;  // all different, of kHostileKeyBytes, in random order
};

inline std::string RandomBytes(Random* random, size_t bytes) {
  std::string key(bytes, '\0');
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = (*random)();
    std::memcpy(key.data() + at, &word, std::min(sizeof(word), bytes - at));
  }
  return key;
}

// `count` keys each: random ones first, those that the others are compared with.
inline std::vector<KeySet> HostileKeySets(size_t count, uint64_t seed = 7) {
  Random random(seed);
  const auto make = [&](const char* name, const auto& next) {
    KeySet set{name, {}};
    for (size_t i = 0; i < count; ++i) set.keys.push_back(next(i));
    std::shuffle(set.keys.begin(), set.keys.end(), random);
    return set;
  };
  constexpr size_t kBytes = kHostileKeyBytes;
  const auto number = [](size_t i) { return NumberKey(i, 8); };
  std::vector<KeySet> sets;
  sets.push_back(make("random", [&](size_t i) { return RandomBytes(&random, kBytes - 8) + number(i); }));
  sets.push_back(make("one_long_start", [&](size_t i) { return std::string(kBytes - 8, 's') + number(i); }));
  // Nothing is common to all, and yet the first bytes tell little.
  sets.push_back(
      make("two_long_starts", [&](size_t i) { return std::string(kBytes - 8, i % 2 == 0 ? 's' : 't') + number(i); }));
  // One key that begins otherwise takes from all others what they have in common.
  sets.push_back(
      make("one_stray_key", [&](size_t i) { return std::string(kBytes - 8, i == 0 ? 'a' : 's') + number(i); }));
  // Groups that tie in every byte kept beside an entry or a record.
  sets.push_back(make("groups_that_tie",
                      [&](size_t i) { return number(i / 64) + std::string(kBytes - 16, 't') + number(i % 64); }));
  sets.push_back(make("last_byte_first", [&](size_t i) {
    std::string key(kBytes, '\0');
    for (size_t at = 0, rest = i; at < 4; ++at, rest /= 256) key[at] = static_cast<char>(rest % 256);
    return key;
  }));
  // Of one place in any index, for whoever knows the hash but not the seed of the process.
  sets.push_back(make("same_hash_bits", [&](size_t i) {
    constexpr int kBits = 6;  // each costs twice the tries
    for (;;) {
      std::string key = RandomBytes(&random, kBytes - 8) + number(i);
      if (HashKey(key, 0) >> (64 - kBits) == 0) return key;
    }
  }));
  return sets;
}

}  // namespace strongbin
