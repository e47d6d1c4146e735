// The seeded hash of keys.
#pragma once

#include <cstdint>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace strongbin {

// Drawn once per process, so that nobody can prepare keys that collide. Thread safety: any thread. Never fails.
uint64_t ProcessHashSeed();

inline uint64_t HashKey(std::string_view key, uint64_t seed) {
  return XXH3_64bits_withSeed(key.data(), key.size(), seed);
}

// 32 bits over everything that an entry says, for the optional per-entry checksum. Not seeded.
inline uint32_t ChecksumEntry(std::string_view key, uint64_t tag, std::string_view value) {
  const uint64_t over_all = HashKey(value, HashKey(key, tag));
  return static_cast<uint32_t>(over_all ^ (over_all >> 32));
}

}  // namespace strongbin
