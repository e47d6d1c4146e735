#include "strongbin/memtable/key_hash.h"

#include <ctime>
#include <sys/random.h>
#include <unistd.h>

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

uint64_t ProcessHashSeed() {
  static const uint64_t seed = DrawSeed();
  return seed;
}

namespace {
[[gnu::constructor]] void MakeAtLoad() { static_cast<void>(ProcessHashSeed()); }  // see fork_guard.h
}  // namespace

}  // namespace strongbin
