// The command line of strongbin-stat.
#pragma once

#include <cstdint>
#include <string>

namespace strongbin::stat_tool {

enum class View : uint8_t { kText, kWatch, kJson, kPrometheus, kCsv, kList };

struct Config {
  View view = View::kText;
  uint64_t pid = 0;       // 0: the only process that has a page
  std::string file = {};  // a page by its file; empty: by process
  double interval_seconds = 1;
  uint64_t count = 0;  // looks of --watch and --csv; 0: until interrupted
};

struct ParsedFlags {
  Config config;
  bool help = false;
  std::string error = {};
};

ParsedFlags ParseFlags(int argc, char** argv);
std::string UsageText();

}  // namespace strongbin::stat_tool
