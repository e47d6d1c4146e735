// What of a run two sides are compared by.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "strongbin/tools/dbbench/gate/comparison.h"

namespace strongbin::dbbench {

enum class MetricKind {
  kPerSecond,     // operations of all rounds by the sum of a column
  kPerOperation,  // a column, weighted by operations
  kSum,           // of a column
  kMost,          // of a column
};

// One number made of the rows of one test, those that time single operations left out.
struct Metric {
  std::string_view name;
  std::string_view help;
  MetricKind kind;
  std::string_view column;
  bool warm_only = false;  // rounds from the second on
};

std::span<const Metric> AllMetrics();
const Metric* FindMetric(std::string_view name);  // null when there is none
std::string MetricNames();

// From a report in JSON. A metric whose column was not measured in a row is absent. False, with the reason, when the
// report is no complete one of a single engine.
bool MetricsOf(const nlohmann::json& report, RunMetrics* metrics, std::string* error);

// Both sides' metrics of a record. False, with the reason, when a side has none, or one below 0, or both did the same
// work and have different content.
bool MetricsOfPair(const nlohmann::json& pair, PairMetrics* metrics, std::string* error);

}  // namespace strongbin::dbbench
