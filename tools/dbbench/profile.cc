#include "strongbin/tools/dbbench/profile.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <gperftools/heap-profiler.h>
#include <gperftools/profiler.h>

// Defined only where tcmalloc is loaded; null otherwise.
#pragma weak HeapProfilerStart
#pragma weak HeapProfilerDump
#pragma weak HeapProfilerStop

namespace strongbin::dbbench {
namespace {

constexpr const char* kTcmalloc = "libtcmalloc.so.4";
constexpr const char* kReentered = "DBBENCH_PROFILED";  // set in the second process, so that it cannot start a third

}  // namespace

bool AllocatorIsTcmalloc() { return &HeapProfilerStart != nullptr; }

std::string EnterProfiledProcess(const Config& config, char** argv) {
  if (config.profile_dir.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(config.profile_dir, error);
  if (error) return "--profile_dir=" + config.profile_dir + ": " + error.message();
  if (AllocatorIsTcmalloc()) return {};
  if (std::getenv(kReentered) != nullptr) {
    return std::string("--profile_dir: heap profiles need gperftools' ") + kTcmalloc +
           ", which the loader does not find (Debian: libgoogle-perftools4)";
  }
  setenv(kReentered, "1", 1);
  const char* before = std::getenv("LD_PRELOAD");
  const std::string preload = before == nullptr || *before == '\0' ? kTcmalloc : std::string(before) + ":" + kTcmalloc;
  setenv("LD_PRELOAD", preload.c_str(), 1);
  execv("/proc/self/exe", argv);
  return std::string("--profile_dir: cannot start again under tcmalloc: ") + std::strerror(errno);
}

TestProfile::TestProfile(const Config& config, const std::string& engine, const std::string& test) {
  if (config.profile_dir.empty()) return;
  title_ = engine + " " + test;
  base_path_ = ProfilePath(config.profile_dir, engine, test);
  ProfilerStart((base_path_ + ".cpu").c_str());
  if (AllocatorIsTcmalloc()) HeapProfilerStart(base_path_.c_str());
}

TestProfile::~TestProfile() { Stop(); }

void TestProfile::Stop() {
  if (base_path_.empty()) return;
  ProfilerStop();
  if (AllocatorIsTcmalloc()) {
    HeapProfilerDump("end of the test");
    HeapProfilerStop();
  }
  base_path_.clear();
}

std::string TestProfile::Finish() {
  if (base_path_.empty()) return {};
  const std::string path = base_path_;
  Stop();
  return "Profiles of " + title_ + ": " + path + ".*";
}

std::string SaveForDigest(const Config& config, const std::string& report_json) {
  if (config.profile_dir.empty()) return {};
  std::ofstream file(config.profile_dir + "/report.json");
  return file << report_json << std::flush ? std::string() : "--profile_dir: report.json cannot be written";
}

std::string ProfilePath(const std::string& directory, const std::string& engine, const std::string& test) {
  std::string name = engine + " " + test;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::string_view(":/ ;=").find(c) != std::string_view::npos; },
      '.');
  return directory + "/" + name;
}

}  // namespace strongbin::dbbench
