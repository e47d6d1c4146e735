#include "strongbin/stats/test_points.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sched.h>
#include <string_view>

namespace strongbin::test_points_internal {

namespace {

// A name that is none would be a fault that no test finds.
Mutation MutationOfEnvironment() {
  const char* wanted = std::getenv("STRONGBIN_MUTATION");
  if (wanted == nullptr) return Mutation::k_none;
#define STRONGBIN_MUTATION(name) \
  if (std::string_view(wanted) == #name) return Mutation::k_##name;
  STRONGBIN_MUTATIONS(STRONGBIN_MUTATION)
#undef STRONGBIN_MUTATION
  std::fprintf(stderr, "STRONGBIN_MUTATION: there is no '%s'\n", wanted);
  std::_Exit(2);
}

uint64_t Mix(uint64_t number) {
  number ^= number >> 32;
  number *= 0x9E3779B97F4A7C15;
  return number ^ (number >> 29);
}

}  // namespace

const Mutation active_mutation = MutationOfEnvironment();
std::atomic<uint64_t> yield_seed{0};
std::array<std::atomic<uint64_t>, static_cast<size_t>(YieldAt::k_count)> passes{};

// With each seed some places are passed, some yield now and then, some often, and some sleep.
void Yield(uint64_t seed, YieldAt place) {
  enum Style : uint64_t { kPasses, kYieldsNowAndThen, kYieldsOften, kSleeps, kStyles };
  constexpr uint64_t kOneIn[kStyles] = {1, 64, 4, 128};
  // Relaxed: a number to look at.
  passes[static_cast<size_t>(place)].fetch_add(1, std::memory_order_relaxed);
  thread_local uint64_t turn = reinterpret_cast<uintptr_t>(&turn);
  turn = Mix(turn + seed);
  const uint64_t style = Mix(seed * 64 + static_cast<uint64_t>(place)) % kStyles;
  if (style == kPasses || turn % kOneIn[style] != 0) return;
  if (style != kSleeps) {
    sched_yield();
    return;
  }
  const timespec some_microseconds{0, static_cast<long>(turn % 30'000)};
  nanosleep(&some_microseconds, nullptr);
}

}  // namespace strongbin::test_points_internal
