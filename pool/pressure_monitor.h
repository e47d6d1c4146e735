// Turns what Linux tells of memory pressure into calls of the pressure hook.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace strongbin {

struct PressureMonitorOptions {
  // Tell of pressure when some task has waited for memory for `stall_us` within `window_us`. The kernel lets ordinary
  // users set only windows that are multiples of two seconds; ten are the most for anybody.
  uint64_t stall_us = 150'000;
  uint64_t window_us = 2'000'000;
  // Further events are one with the first until none has come for `rest_ms`; while they keep coming, the hook is called
  // again every `again_ms`.
  uint64_t rest_ms = 5'000;
  uint64_t again_ms = 60'000;
  // What is called; null: PressureHook::Process(). It must not throw.
  std::function<size_t()> on_pressure = {};

  // Pressure of the whole system. Empty: not watched.
  std::string system_pressure_path = "/proc/pressure/memory";
  // The folder of the cgroup whose memory.pressure and memory.events are watched; not given: this process's own, as it
  // is now. Empty: none is watched.
  std::optional<std::string> cgroup_folder = {};
  // Test double for the time, in nanoseconds.
  std::function<uint64_t()> clock_ns = {};
};

// Watches, with a thread of its own, and calls the hook at the first sign of each shortage.
//
// Owns its thread and files. Thread safety: all methods from any thread; the end from one, also from within the hook,
// which then is called no more. The end waits for a call that is running on its thread. In the child after fork() there
// is no thread and nothing is watched; the object may be destroyed there. Cost: nothing while there is no pressure.
class PressureMonitor {
 public:
  // Null when none of the files can be watched. `report`, which may be null, is then a sentence that says why for each
  // of them; otherwise it says which are watched and why others are not.
  static std::unique_ptr<PressureMonitor> Start(const PressureMonitorOptions& options, std::string* report);
  ~PressureMonitor();
  PressureMonitor(const PressureMonitor&) = delete;
  PressureMonitor& operator=(const PressureMonitor&) = delete;

  // Ends the watch; when the first call returns, the hook is not called any more. (On the monitor's own thread, within
  // the hook: once that returns.) Later calls do nothing.
  void Stop();

  uint64_t event_count() const;  // that the kernel told of
  uint64_t call_count() const;   // of the hook; each has returned
  size_t watched_count() const;  // files that are still there

 private:
  struct State;
  explicit PressureMonitor(std::shared_ptr<State> state);

  const std::shared_ptr<State> state_;  // shared with the thread, which may outlive this for a moment
};

}  // namespace strongbin
