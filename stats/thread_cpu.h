// The processor time that this thread has used.
#pragma once

#include <cstdint>
#include <ctime>

namespace strongbin {

// In nanoseconds since the thread began; what others do on its core meanwhile is not counted. One system call.
inline uint64_t ThreadCpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace strongbin
