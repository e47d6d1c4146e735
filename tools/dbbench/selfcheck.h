// `dbbench selfcheck`: bounds on time and memory, and on the harness itself.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strongbin/tools/dbbench/config.h"

namespace strongbin::dbbench {

// One bound and how it was met.
struct CheckRow {
  std::string name;
  std::string bound;  // empty: a number to know, without a bound
  std::string measured;
  bool pass = true;
};

struct CheckContext {
  const Config& config;          // of the command line
  const std::string& directory;  // for RocksDB's files
};

// Measures one thing and returns its rows. To add a check, write such a function and name it in one of the lists below.
using Check = std::vector<CheckRow> (*)(const CheckContext&);

std::span<const Check> HarnessChecks();    // selfcheck_harness.cc: the harness itself
std::span<const Check> PairChecks();       // selfcheck_pairs.cc: comparisons by the harness
std::span<const Check> ComponentChecks();  // selfcheck_component.cc: the bare component
std::span<const Check> OrderChecks();      // selfcheck_order.cc: ordered reads of the bare component, and its memory
std::span<const Check> WritersChecks();    // selfcheck_writers.cc: many writers, and long runs
std::span<const Check> RotationChecks();   // selfcheck_rotation.cc: the bare component filled and emptied in turns
std::span<const Check> PressureChecks();   // selfcheck_pressure.cc: the bare component while memory is given back
std::span<const Check> EngineChecks();     // selfcheck_engine.cc: the same on RocksDB

// The names of the groups of checks, each that of its file: "component, order, ...".
std::string CheckGroupNames();
bool IsCheckGroup(std::string_view name);

// Runs the checks of these groups, of all where none is named, and prints a table. The exit status: 0 when all bounds
// hold, 1 otherwise.
int RunSelfcheck(const Config& config, const std::string& directory, const std::vector<std::string>& groups);

}  // namespace strongbin::dbbench
