#include "strongbin/tools/command_line.h"

#include <cstdlib>

#include <gflags/gflags.h>

namespace GFLAGS_NAMESPACE {
extern void (*gflags_exitfunc)(int);  // what gflags calls on a bad command line; exported, in no header
}  // namespace GFLAGS_NAMESPACE

namespace strongbin {
namespace {

[[noreturn]] void ExitWithUsageStatus(int) { std::exit(2); }

}  // namespace

CommandLine ParseCommandLine(int argc, char** argv) {
  GFLAGS_NAMESPACE::gflags_exitfunc = &ExitWithUsageStatus;
  // gflags moves the words about, and the caller may need them as they were.
  std::vector<char*> copy(argv, argv + argc);
  copy.push_back(nullptr);
  char** words = copy.data();
  gflags::ParseCommandLineNonHelpFlags(&argc, &words, true);
  CommandLine line;
  for (int i = 1; i < argc; ++i) line.words.emplace_back(words[i]);
  for (const char* name : {"help", "helpfull", "helpshort"}) {
    std::string value;
    line.help |= gflags::GetCommandLineOption(name, &value) && value == "true";
  }
  return line;
}

std::string FlagList(std::string_view file_ending) {
  std::string text;
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (!std::string_view(flag.filename).ends_with(file_ending)) continue;
    text += "  --" + flag.name + "=" + flag.default_value + "\n      " + flag.description + "\n";
  }
  return text;
}

}  // namespace strongbin
