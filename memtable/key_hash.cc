#include "strongbin/memtable/key_hash.h"

#include <sys/random.h>
#include <unistd.h>

#include <ctime>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace strongbin {

namespace {

uint64_t DrawSeed() {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == static_cast<ssize_t>(sizeof(seed))) return seed;
  // Early in boot the kernel may have no entropy yet: the clock and the process number are better than a constant.
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const uint64_t mixed[] = {static_cast<uint64_t>(now.tv_sec), static_cast<uint64_t>(now.tv_nsec),
                            static_cast<uint64_t>(getpid())};
  return XXH3_64bits(mixed, sizeof(mixed));
}

}  // namespace

uint64_t HashKey(std::string_view key) {
  static const uint64_t seed = DrawSeed();
  return XXH3_64bits_withSeed(key.data(), key.size(), seed);
}

uint32_t ChecksumEntry(std::string_view key, uint64_t tag, std::string_view value) {
  const uint64_t over_key = XXH3_64bits_withSeed(key.data(), key.size(), tag);
  const uint64_t over_all = XXH3_64bits_withSeed(value.data(), value.size(), over_key);
  return static_cast<uint32_t>(over_all ^ (over_all >> 32));
}

}  // namespace strongbin
