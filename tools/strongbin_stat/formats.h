// One look at a process, for programs and for people.
#pragma once

#include <cstdint>
#include <string>

#include "strongbin/stats/page_reader.h"

namespace strongbin::stat_tool {

std::string AsText(const PageSnapshot& snapshot);
std::string AsJson(const PageSnapshot& snapshot);
std::string AsPrometheus(const PageSnapshot& snapshot);

// Each metric once: counters and gauges summed over labels and pools, the largest of maxima.
std::string CsvHead();
std::string CsvRow(const PageSnapshot& snapshot, uint64_t unix_ms);

}  // namespace strongbin::stat_tool
