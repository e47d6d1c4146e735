// Where and with what a result came about.
#pragma once

#include <string>

#include "strongbin/tools/dbbench/report.h"

namespace strongbin::dbbench {

// Compiler, flags, assertions on both sides, processor, kernel, memory, huge pages, allocator, file system of
// `directory`, commit.
Facts DescribeEnvironment(const std::string& directory);
// The flags as they were understood.
Facts DescribeSettings(const Config& config);
// The same for programs that read results.
Facts PlainParameters(const Config& config);
// What makes numbers of this build unfit to be quoted: no optimisation, assertions, a sanitizer, a preloaded allocator.
std::vector<std::string> BuildWarnings();

}  // namespace strongbin::dbbench
