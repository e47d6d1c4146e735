// The seeded hash of keys.
#pragma once

#include <cstdint>
#include <string_view>

namespace strongbin {

// 64 bits of XXH3 under a seed that is drawn once per process, so that nobody can prepare keys that collide.
// Thread safety: any thread. Never fails.
uint64_t HashKey(std::string_view key);

// 32 bits over everything that an entry says, for the optional per-entry checksum. Not seeded.
uint32_t ChecksumEntry(std::string_view key, uint64_t tag, std::string_view value);

}  // namespace strongbin
