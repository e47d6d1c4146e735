// Faults that are switched on to see that a test fails, and places where threads are made to change. Only in builds
// with STRONGBIN_TEST_POINTS; in all others nothing of this is left.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef STRONGBIN_TEST_POINTS
#include <array>
#include <atomic>
#endif

namespace strongbin {

// The faults. tests/stats/test_points_test.py names for each the test that must fail.
#define STRONGBIN_MUTATIONS(X)         \
  X(chunk_returned_twice)              \
  X(chunk_returned_with_iterator_open) \
  X(counter_not_decremented)           \
  X(off_by_one_at_class_boundary)      \
  X(missing_acquire_on_publication)    \
  X(unsorted_pair_in_run)              \
  X(wake_up_lost_at_busy_reset)        \
  X(version_by_arrival)                \
  X(last_pin_frees_nothing)            \
  X(half_of_a_failed_batch_shown)      \
  X(cap_not_kept)                      \
  X(idle_chunks_left_behind_by_pressure)

enum class Mutation : uint8_t {
  k_none,
#define STRONGBIN_MUTATION(name) k_##name,
  STRONGBIN_MUTATIONS(STRONGBIN_MUTATION)
#undef STRONGBIN_MUTATION
};

// Where another thread may come in between. See PerturbSchedule.
#define STRONGBIN_YIELD_POINTS(X) \
  X(before_publish)               \
  X(after_publish)                \
  X(pin_noted)                    \
  X(pin_let_go)                   \
  X(replacing)                    \
  X(before_writer_lock)           \
  X(before_writer_unlock)         \
  X(segment_split)                \
  X(version_linked)               \
  X(delta_filled)                 \
  X(before_take_back)             \
  X(giving_back)

enum class YieldAt : uint8_t {
#define STRONGBIN_YIELD_POINT(name) k_##name,
  STRONGBIN_YIELD_POINTS(STRONGBIN_YIELD_POINT)
#undef STRONGBIN_YIELD_POINT
      k_count,
};

#ifndef STRONGBIN_TEST_POINTS

constexpr bool Mutated(Mutation) { return false; }
constexpr void YieldPoint(YieldAt) {}

#else

namespace test_points_internal {

// Not inline: what is unique in a process would keep a library that holds it from being unloaded.
extern const Mutation active_mutation;  // the one named by STRONGBIN_MUTATION when the process began
extern std::atomic<uint64_t> yield_seed;
extern std::array<std::atomic<uint64_t>, static_cast<size_t>(YieldAt::k_count)> passes;
void Yield(uint64_t seed, YieldAt place);

}  // namespace test_points_internal

inline bool Mutated(Mutation mutation) { return test_points_internal::active_mutation == mutation; }

// Relaxed, here and below: an old seed does no harm, and nothing must be ordered that would not be without.
inline void YieldPoint(YieldAt place) {
  const uint64_t seed = test_points_internal::yield_seed.load(std::memory_order_relaxed);
  if (seed != 0) [[unlikely]]
    test_points_internal::Yield(seed, place);
}

// From now on threads give way at places, and as often, as the seed says; 0: nowhere.
inline void PerturbSchedule(uint64_t seed) { test_points_internal::yield_seed.store(seed, std::memory_order_relaxed); }
// How often a thread has come by there since the first seed.
inline uint64_t PassesAt(YieldAt place) {
  return test_points_internal::passes[static_cast<size_t>(place)].load(std::memory_order_relaxed);
}

#endif

}  // namespace strongbin
