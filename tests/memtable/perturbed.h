// Threads that are made to change at the places that stats/test_points.h names, where the build has them.
#pragma once

#include <cstdint>

#include <gtest/gtest.h>

#include "strongbin/stats/test_points.h"
#include "strongbin/tests/memtable/key_history.h"

namespace strongbin {

// While it lives, threads give way as the seed says.
class Perturbed {
 public:
  explicit Perturbed([[maybe_unused]] uint64_t seed) {
#ifdef STRONGBIN_TEST_POINTS
    PerturbSchedule(seed);
#endif
  }
  ~Perturbed() {
#ifdef STRONGBIN_TEST_POINTS
    PerturbSchedule(0);
#endif
  }
  Perturbed(const Perturbed&) = delete;
  Perturbed& operator=(const Perturbed&) = delete;
};

// Runs `run(seed)` under the schedules of some seeds; see ForSeeds.
template <class Run>
void ForSchedules(uint64_t usual_count, const Run& run) {
  ForSeeds(usual_count, [&](uint64_t seed) {
    const Perturbed perturbed(seed);
    run(seed);
  });
}

}  // namespace strongbin
