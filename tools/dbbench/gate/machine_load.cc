#include "strongbin/tools/dbbench/gate/machine_load.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/measure.h"
#include "strongbin/tools/dbbench/monitor.h"

namespace strongbin::dbbench {
namespace {

// The sum behind "some ... total=", in seconds; 0 where the kernel has no PSI.
double StallSeconds(const char* resource) {
  std::ifstream file(std::string("/proc/pressure/") + resource);
  std::string line;
  std::getline(file, line);
  const size_t total = line.find("total=");
  return line.starts_with("some") && total != std::string::npos ? std::stod(line.substr(total + 6)) / 1e6 : 0;
}

}  // namespace

LoadSample SampleLoad() {
  LoadSample sample;
  sample.when_ns = NowNs();
  const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "cpu") {
      double user = 0, nice = 0, system = 0, idle = 0, wait = 0, interrupt = 0, soft = 0, steal = 0;
      words >> user >> nice >> system >> idle >> wait >> interrupt >> soft >> steal;
      sample.busy_seconds = (user + nice + system + interrupt + soft) / ticks_per_second;
      sample.steal_seconds = steal / ticks_per_second;
    } else if (name == "procs_running") {
      words >> sample.runnable;
    }
  }
  sample.cpu_stall_seconds = StallSeconds("cpu");
  sample.memory_stall_seconds = StallSeconds("memory");
  sample.io_stall_seconds = StallSeconds("io");
  return sample;
}

LoadShare ShareBetween(const LoadSample& before, const LoadSample& after, double own_seconds) {
  const double seconds = static_cast<double>(after.when_ns - before.when_ns) / 1e9;
  LoadShare share;
  if (seconds <= 0) return share;
  share.others = std::max(0.0, after.busy_seconds - before.busy_seconds - own_seconds) / seconds;
  share.steal = (after.steal_seconds - before.steal_seconds) / seconds;
  share.cpu_stall = (after.cpu_stall_seconds - before.cpu_stall_seconds) / seconds;
  share.memory_stall = (after.memory_stall_seconds - before.memory_stall_seconds) / seconds;
  share.io_stall = (after.io_stall_seconds - before.io_stall_seconds) / seconds;
  return share;
}

std::string Disturbance(const LoadShare& share, const LoadLimits& limits) {
  std::string text;
  const auto add = [&text](bool above, const std::string& what) {
    if (above) text += (text.empty() ? "" : ", ") + what;
  };
  add(share.others > limits.others, "others used " + Significant(share.others) + " processors");
  add(share.steal > limits.steal, "the hypervisor took " + Significant(share.steal) + " processors");
  add(share.memory_stall > limits.memory_stall,
      "tasks waited for memory in " + Significant(100 * share.memory_stall) + " % of the time");
  return text;
}

bool WaitForQuiet(const LoadLimits& limits, double most_seconds) {
  if (most_seconds <= 0) return true;
  const uint64_t end_ns = NowNs() + static_cast<uint64_t>(most_seconds * 1e9);
  for (;;) {
    const LoadSample before = SampleLoad();
    const double own_seconds = SampleProcess().cpu_seconds;
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    const LoadSample after = SampleLoad();
    const LoadShare share = ShareBetween(before, after, SampleProcess().cpu_seconds - own_seconds);
    // We are the one task that runs now.
    if (after.runnable <= 2 && Disturbance(share, limits).empty()) return true;
    if (NowNs() >= end_ns || Interrupted()) return false;
  }
}

}  // namespace strongbin::dbbench
