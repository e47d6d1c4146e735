// The raw results of a gate, one JSON object a line, from which an interrupted gate goes on.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "strongbin/tools/dbbench/gate/comparison.h"

namespace strongbin::dbbench {

// The first line tells what is compared; each further one is a pair that was run, with both reports whole.
//
// One process at a time. When wrong: the call answers false and error() says why.
class Journal {
 public:
  explicit Journal(std::string path) : path_(std::move(path)) {}

  // Begins the file with `header`, or reads what is there if it was begun with the same. A line that a crash cut off is
  // dropped. False when the file belongs to another comparison.
  bool Open(const nlohmann::json& header);
  // Appends a pair; it is on disk when this returns.
  bool Add(const nlohmann::json& pair);

  const std::vector<nlohmann::json>& pairs() const { return pairs_; }
  const std::string& error() const { return error_; }

 private:
  bool Append(const nlohmann::json& line);

  const std::string path_;
  std::vector<nlohmann::json> pairs_;
  std::string error_;
};

}  // namespace strongbin::dbbench
