// Other programs.
#pragma once

#include <string>
#include <vector>

namespace strongbin::dbbench {

struct ChildResult {
  bool started = false;
  int status = 0;  // its exit status; 128 and the number of the signal that ended it
  double cpu_seconds = 0;
  double wall_seconds = 0;
  std::string errors;  // the end of what it wrote to standard error
};

// Runs a program to its end. Its standard output goes to `output_path`. `preload` is put before what LD_PRELOAD names.
// Ctrl-C reaches the child as well and is waited for.
ChildResult RunChild(const std::vector<std::string>& arguments, const std::string& preload,
                     const std::string& output_path);

// The path of this program.
std::string ThisProgram();

// What a shell command writes to its standard output; empty where it cannot be run.
std::string OutputOf(const std::string& command);

}  // namespace strongbin::dbbench
