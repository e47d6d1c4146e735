#include "strongbin/tools/dbbench/gate/gate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unistd.h>

#include "strongbin/tools/dbbench/environment.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/gate/gate_text.h"
#include "strongbin/tools/dbbench/gate/journal.h"
#include "strongbin/tools/dbbench/gate/metrics.h"
#include "strongbin/tools/dbbench/gate/pair_runner.h"
#include "strongbin/tools/dbbench/measure.h"
#include "strongbin/tools/dbbench/monitor.h"

namespace strongbin::dbbench {
namespace {

constexpr size_t kFewestToStopEarly = 7;  // what the Mann-Whitney test needs for a thousandth

int Complain(const std::string& reason) {
  std::fprintf(stderr, "dbbench gate: %s\n", reason.c_str());
  return 1;
}

nlohmann::json HeaderOf(const GateConfig& gate, const Config& config, const Facts& environment) {
  nlohmann::json header = {{"tool", "dbbench gate"},
                           {"format_version", 1},
                           {"label", config.label},
                           {"baseline", gate.baseline.text},
                           {"candidate", gate.candidate.text},
                           {"flags", gate.common_flags}};
  for (const auto& [name, value] : environment) {
    if (name == "commit" || name == "build" || name == "processor") header[name] = value;
  }
  return header;
}

bool Counts(const nlohmann::json& pair) { return pair.value("counted", true); }

// One call: takes over the pairs that the journal has, and runs more until there are enough.
class Gate {
 public:
  Gate(const GateConfig& gate, const Config& config, const std::string& directory)
      : gate_(gate), runner_(gate, config, directory), journal_(gate.results_path) {}

  int Run(const nlohmann::json& header);

 private:
  bool TakeOver(const nlohmann::json& pair, std::string* error);
  bool AddPair(std::string* error);
  bool Enough() const;
  bool NarrowEnough() const;

  const GateConfig& gate_;
  PairRunner runner_;
  Journal journal_;
  std::vector<PairMetrics> pairs_;  // that count
  GateFacts facts_;
};

bool Gate::TakeOver(const nlohmann::json& pair, std::string* error) {
  const bool disturbed = !pair.value("disturbed", "").empty();
  if (!Counts(pair)) {
    ++facts_.repeated_pairs;
    return true;
  }
  facts_.disturbed_pairs += disturbed ? 1 : 0;
  PairMetrics metrics;
  if (!MetricsOfPair(pair, &metrics, error)) return false;
  pairs_.push_back(std::move(metrics));
  return true;
}

bool Gate::AddPair(std::string* error) {
  nlohmann::json pair;
  // A, B, B, A: what drifts slowly meets both sides alike.
  if (!runner_.Run(journal_.pairs().size() % 2 == 0, &pair)) {
    *error = runner_.error();
    return false;
  }
  const std::string disturbed = pair.value("disturbed", "");
  pair["counted"] = disturbed.empty() || facts_.repeated_pairs >= gate_.max_repeats;
  if (!journal_.Add(pair)) {
    *error = journal_.error();
    return false;
  }
  if (!TakeOver(pair, error)) return false;
  std::string line = "pair " + std::to_string(pairs_.size()) + " of " + std::to_string(gate_.pairs);
  if (!disturbed.empty()) line += (Counts(pair) ? ", disturbed: " : " is repeated, disturbed: ") + disturbed;
  std::fprintf(stderr, "dbbench gate: %s\n", line.c_str());
  return true;
}

bool Gate::NarrowEnough() const {
  if (gate_.narrow == 0 || pairs_.size() < kFewestToStopEarly) return false;
  const std::vector<Comparison> comparisons = Compare(pairs_);
  return std::all_of(comparisons.begin(), comparisons.end(), [this](const Comparison& found) {
    const bool required = std::any_of(
        gate_.requirements.begin(), gate_.requirements.end(),
        [&](const auto& required_one) { return required_one.is_ratio && required_one.metric == found.metric; });
    const double allowed = gate_.narrow * found.ratio;
    return !required ||
           (found.ratio - found.ratio_interval.low <= allowed && found.ratio_interval.high - found.ratio <= allowed);
  });
}

bool Gate::Enough() const { return pairs_.size() >= gate_.pairs || NarrowEnough(); }

int Gate::Run(const nlohmann::json& header) {
  const uint64_t start_ns = NowNs();
  std::string error;
  if (!journal_.Open(header)) return Complain(journal_.error());
  for (const nlohmann::json& pair : journal_.pairs()) {
    if (!TakeOver(pair, &error)) return Complain(gate_.results_path + ": " + error);
  }
  facts_.resumed_pairs = pairs_.size();
  bool in_time = true;
  if (!Enough()) {
    nlohmann::json warm_up;
    bool going = runner_.Run(true, &warm_up);
    if (!going) error = runner_.error();
    while (going && in_time && !Enough()) {
      going = AddPair(&error);
      in_time = gate_.max_minutes == 0 || static_cast<double>(NowNs() - start_ns) / 60e9 < gate_.max_minutes;
    }
    if (!going && error.empty()) {
      std::fprintf(stderr, "dbbench gate: interrupted; the same command goes on from %s\n", gate_.results_path.c_str());
      return kInterruptedStatus;
    }
    if (!going) return Complain(error);
  }
  facts_.out_of_time = !in_time && !Enough();
  facts_.counted_pairs = pairs_.size();
  if (!journal_.pairs().empty()) facts_.last_pair = journal_.pairs().back();
  const std::vector<Comparison> comparisons = Compare(pairs_);
  bool pass = true;
  std::string verdicts;
  for (const Requirement& requirement : gate_.requirements) {
    const Verdict verdict = Judge(requirement, comparisons, gate_.alpha);
    pass &= verdict.pass;
    verdicts += verdict.text;
  }
  std::fputs(GateText(gate_, facts_, comparisons, verdicts).c_str(), stdout);
  std::printf("\n%s\n", gate_.requirements.empty() ? "no condition was stated" : (pass ? "PASS" : "FAIL"));
  return pass ? 0 : 1;
}

}  // namespace

int RunGate(const GateConfig& gate, const Config& config, const std::string& directory) {
  const Facts environment = DescribeEnvironment(directory);
  try {
    return Gate(gate, config, directory).Run(HeaderOf(gate, config, environment));
  } catch (const nlohmann::json::exception& wrong) {  // a value of another type than the tools write
    return Complain(gate.results_path + " or a report of a side: " + wrong.what());
  }
}

}  // namespace strongbin::dbbench
