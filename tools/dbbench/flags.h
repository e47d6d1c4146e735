// The command line of dbbench.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strongbin/tools/dbbench/config.h"

namespace strongbin::dbbench {

// What the command line says, or why it cannot be done.
struct ParsedFlags {
  Config config;
  std::vector<std::string> words;  // what is no flag: a command, or nothing
  std::string error;               // one line for people that names the allowed values; empty when all is well
  bool help = false;
};

// Reads the command line through gflags. A flag that gflags does not know, or whose value has the wrong type, ends the
// process with exit status 2, as gflags has no other way.
ParsedFlags ParseFlags(int argc, char** argv);

// The flags of a run that are not at their defaults, as --NAME=VALUE, but for those of these names: what to give to a
// process that is to run under the same flags. ParseFlags must have run.
std::vector<std::string> GivenRunFlags(const std::vector<std::string_view>& except);

// All flags with their defaults, for --help.
std::string UsageText();

}  // namespace strongbin::dbbench
