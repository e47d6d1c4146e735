// `dbbench suite`: all that a report shows, by one command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strongbin/tools/dbbench/config.h"

namespace strongbin::dbbench {

// One call of dbbench; its report is DIR/NAME.json.
struct SuiteRun {
  std::string name;
  std::vector<std::string> arguments;
};

// quick: some minutes. full: about an hour. paper: all that docs/benchmarks.md shows, at its sizes. Empty for any other
// name.
std::vector<SuiteRun> SuiteOf(std::string_view name);

struct SuiteConfig {
  std::string name;
  std::string directory;                  // for the results
  std::vector<std::string> common_flags;  // of every run, as they were given
};

// Reads the suite's own flags. Empty, or what is wrong. ParseFlags must have run.
std::string ReadSuiteFlags(const std::string& name, SuiteConfig* suite);
std::string SuiteFlagList();

// Runs those whose report is not there yet, each in a process of its own, and writes report.html and report.md beside
// the results. The exit status: 0, 1 when a run failed, 130 after Ctrl-C; the same command then goes on where it ended.
int RunSuite(const SuiteConfig& suite);

}  // namespace strongbin::dbbench
