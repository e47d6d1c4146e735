// Runs one pair of a gate.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "strongbin/tools/dbbench/config.h"
#include "strongbin/tools/dbbench/gate/gate.h"

namespace strongbin::dbbench {

// Starts both sides, one after the other.
class PairRunner {
 public:
  PairRunner(const GateConfig& gate, const Config& config, const std::string& directory)
      : gate_(gate), config_(config), directory_(directory) {}

  // The record of the pair for the journal, with "disturbed" empty or saying by what. False when a run failed or was
  // interrupted; error() is empty in the latter case.
  bool Run(bool baseline_first, nlohmann::json* pair);

  const std::string& error() const { return error_; }

 private:
  bool RunSide(const Side& side, nlohmann::json* record);
  void DropCaches() const;

  const GateConfig& gate_;
  const Config& config_;
  const std::string directory_;
  std::string error_;
};

}  // namespace strongbin::dbbench
