// Results read back from files.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "strongbin/tools/dbbench/gate/comparison.h"

namespace strongbin::dbbench {

// One row of a report, with what it ran under.
struct ResultRow {
  std::string series;  // the engine, with what sets it apart from the others of these files
  std::string test;    // with ", durable" behind it where it was
  std::string round;
  uint64_t keys = 0;
  uint64_t threads = 0;
  nlohmann::json row;
};

struct GateResult {
  std::string file;
  nlohmann::json header;
  nlohmann::json environment;
  size_t pairs = 0;
  size_t disturbed_pairs = 0;
  std::vector<Comparison> comparisons;
};

struct RunFacts {
  std::string file;
  nlohmann::json environment;
  nlohmann::json settings;
  nlohmann::json engines;
};

struct ResultSet {
  std::vector<ResultRow> rows;  // finished ones, in the order of the files
  std::vector<GateResult> gates;
  std::vector<RunFacts> runs;

  std::vector<std::string> SeriesNames() const;  // in the order in which they come
  std::vector<std::string> TestNames() const;
};

// Reads reports of dbbench in JSON and raw results of its gate. False, with the file and the reason, when one is
// neither.
bool ReadResults(const std::vector<std::string>& paths, ResultSet* results, std::string* error);

}  // namespace strongbin::dbbench
