// What a gate prints.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "strongbin/tools/dbbench/gate/comparison.h"
#include "strongbin/tools/dbbench/gate/gate.h"

namespace strongbin::dbbench {

struct GateFacts {
  size_t counted_pairs = 0;
  size_t resumed_pairs = 0;    // of them, from an earlier call
  size_t disturbed_pairs = 0;  // of them
  size_t repeated_pairs = 0;   // not counted
  bool out_of_time = false;
  nlohmann::json last_pair;
};

// Markdown: what was compared, a table of all comparisons, the verdicts.
std::string GateText(const GateConfig& gate, const GateFacts& facts, const std::vector<Comparison>& comparisons,
                     const std::string& verdicts);

// A Markdown table of comparisons.
std::string ComparisonTable(const std::vector<Comparison>& comparisons);

}  // namespace strongbin::dbbench
