#include "strongbin/tools/dbbench/measure.h"

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace strongbin::dbbench {

void WaitUntilNs(uint64_t when_ns) {
  constexpr uint64_t kSpinNs = 80'000;  // more than a timer is usually late
  const uint64_t now_ns = NowNs();
  if (when_ns > now_ns + kSpinNs) {
    const uint64_t wake_ns = when_ns - kSpinNs;
    const timespec wake = {static_cast<time_t>(wake_ns / 1'000'000'000), static_cast<long>(wake_ns % 1'000'000'000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nullptr) != 0) {
    }
  }
  while (NowNs() < when_ns) {
  }
}

ProcessSample SampleProcess() {
  ProcessSample sample;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    sample.minor_faults = static_cast<uint64_t>(usage.ru_minflt);
    sample.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  }
  // The second number of statm is the resident size in pages.
  std::array<char, 128> text{};
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    if (read(file, text.data(), text.size() - 1) > 0) {
      char* end = nullptr;
      std::strtoull(text.data(), &end, 10);
      sample.resident_bytes = std::strtoull(end, nullptr, 10) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    }
    close(file);
  }
  return sample;
}

}  // namespace strongbin::dbbench
