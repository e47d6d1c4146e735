#include "strongbin/tools/dbbench/gate/pair_runner.h"

#include <fstream>
#include <unistd.h>
#include <utility>

#include "strongbin/tools/dbbench/child_process.h"
#include "strongbin/tools/dbbench/gate/metrics.h"
#include "strongbin/tools/dbbench/monitor.h"

namespace strongbin::dbbench {

bool PairRunner::Run(bool baseline_first, nlohmann::json* pair) {
  nlohmann::json baseline, candidate;
  const bool done = baseline_first ? RunSide(gate_.baseline, &baseline) && RunSide(gate_.candidate, &candidate)
                                   : RunSide(gate_.candidate, &candidate) && RunSide(gate_.baseline, &baseline);
  if (!done) return false;
  std::string disturbed;
  for (const auto& [name, record] : {std::pair("baseline", &baseline), std::pair("candidate", &candidate)}) {
    const std::string by = record->value("disturbed", "");
    if (!by.empty()) disturbed += (disturbed.empty() ? "" : "; ") + std::string(name) + ": " + by;
  }
  *pair = {{"order", baseline_first ? "AB" : "BA"},
           {"label", config_.label},
           {"disturbed", disturbed},
           {"baseline", std::move(baseline)},
           {"candidate", std::move(candidate)}};
  return true;
}

bool PairRunner::RunSide(const Side& side, nlohmann::json* record) {
  const std::string output_path = directory_ + "/report.json";
  std::vector<std::string> arguments = {side.program.empty() ? ThisProgram() : side.program, "--latency_ops=0"};
  arguments.insert(arguments.end(), gate_.common_flags.begin(), gate_.common_flags.end());
  arguments.insert(arguments.end(), side.flags.begin(), side.flags.end());
  arguments.insert(arguments.end(), {"--format=json", "--progress=false", "--db=" + directory_});

  if (gate_.drop_caches) DropCaches();
  const bool quiet = WaitForQuiet(gate_.limits, gate_.wait_quiet_seconds);
  if (Interrupted()) return false;
  const LoadSample before = SampleLoad();
  const ChildResult child = RunChild(arguments, side.library, output_path);
  const LoadShare share = ShareBetween(before, SampleLoad(), child.cpu_seconds);
  if (Interrupted() || child.status == kInterruptedStatus) return false;
  if (!child.started || child.status != 0) {
    error_ = side.text + ": the run ended with status " + std::to_string(child.status) + "; " + child.errors;
    return false;
  }
  std::ifstream file(output_path);
  nlohmann::json report = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  RunMetrics metrics;
  if (report.is_discarded() || !MetricsOf(report, &metrics, &error_)) {
    if (error_.empty()) error_ = "no report in JSON; " + child.errors;
    error_.insert(0, side.text + ": ");
    return false;
  }
  std::string disturbed = Disturbance(share, gate_.limits);
  if (!quiet) disturbed += std::string(disturbed.empty() ? "" : ", ") + "no quiet moment came before it";
  *record = {{"disturbed", disturbed},
             {"cpu_seconds", child.cpu_seconds},
             {"wall_seconds", child.wall_seconds},
             {"load",
              {{"other_processors", share.others},
               {"steal", share.steal},
               {"cpu_stall", share.cpu_stall},
               {"memory_stall", share.memory_stall},
               {"io_stall", share.io_stall}}},
             {"metrics", metrics},
             {"report", std::move(report)}};
  return true;
}

// Only an administrator may; for others the caches stay as they are, on both sides alike.
void PairRunner::DropCaches() const {
  sync();
  std::ofstream("/proc/sys/vm/drop_caches") << "1\n";
}

}  // namespace strongbin::dbbench
