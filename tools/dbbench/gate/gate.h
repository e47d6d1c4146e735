// `dbbench gate`: two configurations, run in turns, held to conditions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strongbin/tools/dbbench/config.h"
#include "strongbin/tools/dbbench/gate/machine_load.h"
#include "strongbin/tools/dbbench/gate/requirement.h"
#include "strongbin/tools/dbbench/gate/side.h"

namespace strongbin::dbbench {

struct GateConfig {
  Side baseline;
  Side candidate;
  std::vector<std::string> common_flags;  // of both sides, as they were given
  std::vector<Requirement> requirements;
  uint64_t pairs = 0;
  double narrow = 0;  // enough once each required interval is at most this share of its ratio to either side; 0: never
  double max_minutes = 0;  // 0: no limit
  double alpha = 0;
  std::string results_path;
  LoadLimits limits;
  double wait_quiet_seconds = 0;
  uint64_t max_repeats = 0;
  bool drop_caches = false;
};

// Reads the gate's own flags, and `--require`, which may come several times, from the command line. Empty, or what is
// wrong. ParseFlags must have run.
std::string ReadGateFlags(int argc, char** argv, GateConfig* gate);
std::string GateFlagList();

// Runs pairs in fresh processes and directories, first a warm-up that does not count, in the order ABBA, until there
// are enough, and prints what came of it. The exit status: 0 when all conditions hold, 1 when one does not or a run
// failed, 130 after Ctrl-C; the same command then goes on where it ended.
int RunGate(const GateConfig& gate, const Config& config, const std::string& directory);

}  // namespace strongbin::dbbench
