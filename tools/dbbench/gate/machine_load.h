// What else the machine does while something is measured.
#pragma once

#include <cstdint>
#include <string>

namespace strongbin::dbbench {

// The kernel's sums at one moment.
struct LoadSample {
  uint64_t when_ns = 0;
  double busy_seconds = 0;       // of all processors, by anybody
  double steal_seconds = 0;      // in which the hypervisor gave our processors to others
  double cpu_stall_seconds = 0;  // PSI: some task waited for a processor, for memory, for input or output
  double memory_stall_seconds = 0;
  double io_stall_seconds = 0;
  uint64_t runnable = 0;  // tasks that run or wait for a processor
};
LoadSample SampleLoad();

// Between two samples, in processors (1: one processor all the time) or as a share of the time.
struct LoadShare {
  double others = 0;  // processors that neither we nor our children used
  double steal = 0;
  double cpu_stall = 0;
  double memory_stall = 0;
  double io_stall = 0;
};
// `own_seconds` is the processor time of the run and of what it waited for.
LoadShare ShareBetween(const LoadSample& before, const LoadSample& after, double own_seconds);

// What is allowed before a run counts as disturbed.
struct LoadLimits {
  double others = 0;  // processors
  double steal = 0.05;
  double memory_stall = 0.02;
};
// Empty when nothing disturbed; else what did.
std::string Disturbance(const LoadShare& share, const LoadLimits& limits);

// Waits until a quarter of a second has passed without disturbance, at most so long. False when it never came; true at
// once when it is not to wait.
bool WaitForQuiet(const LoadLimits& limits, double most_seconds);

}  // namespace strongbin::dbbench
