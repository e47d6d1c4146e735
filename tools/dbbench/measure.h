// What the operating system knows of this process, and the clock.
#pragma once

#include <cstdint>
#include <ctime>
#include <sys/time.h>

namespace strongbin::dbbench {

inline uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

inline double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Returns no earlier than `when_ns`. Sleeps while that is far off and spins over the rest, so that it is late by
// little.
void WaitUntilNs(uint64_t when_ns);

struct ProcessSample {
  uint64_t minor_faults = 0;
  uint64_t resident_bytes = 0;
  double cpu_seconds = 0;  // of all threads
};
ProcessSample SampleProcess();

// One moment of a run.
struct TimePoint {
  double seconds = 0;  // since its start
  uint64_t operations = 0;
  uint64_t resident_bytes = 0;
  uint64_t idle_bytes = 0;  // of the pool; 0 without one
  uint64_t lent_bytes = 0;
};

}  // namespace strongbin::dbbench
