// `dbbench profile DIR`: what the profiles of a run say, beside what was counted.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace strongbin::dbbench {

// One line of `google-pprof --text`.
struct ProfileLine {
  double flat = 0;
  double flat_percent = 0;
  double cumulative = 0;
  double cumulative_percent = 0;
  std::string name;
};
struct ProfileText {
  double total = 0;
  std::vector<ProfileLine> lines;  // most first
};
ProfileText ParseProfileText(std::string_view text);

// What a heap profile and the exact counters say of one test's key memory.
struct KeyMemory {
  double profiled_bytes = 0;
  double counted_bytes = 0;
  bool from_malloc = false;  // the chunks came from malloc, where a heap profiler can see them
};
// One sentence: that they agree, or by how much they do not and why that is so.
std::string CompareKeyMemory(const KeyMemory& memory);

// Prints the digest of all tests in the directory as Markdown. The exit status: 0, or 1 where there is nothing to read.
int PrintProfiles(const std::string& directory);

}  // namespace strongbin::dbbench
