// Profiles of each test by gperftools.
#pragma once

#include <string>

#include "strongbin/tools/dbbench/config.h"

namespace strongbin::dbbench {

// Heap profiles need gperftools' tcmalloc, and timed runs must not have it, so it is no part of this program.
bool AllocatorIsTcmalloc();

// With --profile_dir and without tcmalloc: starts this program again with tcmalloc before it, and does not return.
// Returns a reason when that cannot be.
std::string EnterProfiledProcess(const Config& config, char** argv);

// Where the profiles of a test lie; the files' names go on with .cpu and .NNNN.heap.
std::string ProfilePath(const std::string& directory, const std::string& engine, const std::string& test);
// Puts a report beside the profiles, for `dbbench profile` to compare them with. Returns a reason when that cannot be.
std::string SaveForDigest(const Config& config, const std::string& report_json);

// Takes a CPU and a heap profile while it lives, when config.profile_dir is set; does nothing otherwise. One at a time.
class TestProfile {
 public:
  TestProfile(const Config& config, const std::string& engine, const std::string& test);
  ~TestProfile();
  TestProfile(const TestProfile&) = delete;
  TestProfile& operator=(const TestProfile&) = delete;

  // Ends both profiles and returns a line for the report that says where they are; empty without --profile_dir.
  std::string Finish();

 private:
  void Stop();

  std::string title_;
  std::string base_path_;  // empty: not active
};

}  // namespace strongbin::dbbench
