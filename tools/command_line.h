// What the tools share of their command lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace strongbin {

struct CommandLine {
  std::vector<std::string> words;  // what is no flag
  bool help = false;
};

// Parses gflags; a flag that does not exist or cannot be read ends the program with 2. `argv` is left as it is.
CommandLine ParseCommandLine(int argc, char** argv);

// The flags that the source file with this ending defines, with their defaults and what they do.
std::string FlagList(std::string_view file_ending);

}  // namespace strongbin
