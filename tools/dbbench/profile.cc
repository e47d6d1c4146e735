#include "strongbin/tools/dbbench/profile.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
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
constexpr size_t kTopFunctions = 8;

// One line of `google-pprof --text`: flat, flat %, sum %, cumulative, cumulative %, name.
struct ProfileLine {
  double flat_percent = 0;
  double cumulative_percent = 0;
  std::string name;
};

std::vector<ProfileLine> ReadProfile(const std::string& path, std::string_view mode) {
  std::vector<ProfileLine> lines;
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  const std::string command =
      "LD_PRELOAD= google-pprof --text " + std::string(mode) + " '" + program + "' '" + path + "' 2>/dev/null";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return lines;
  char* text = nullptr;
  size_t capacity = 0;
  while (getline(&text, &capacity, pipe) > 0) {
    std::istringstream words(text);
    std::string flat;
    std::string flat_percent;
    std::string sum_percent;
    std::string cumulative;
    std::string cumulative_percent;
    ProfileLine line;
    words >> flat >> flat_percent >> sum_percent >> cumulative >> cumulative_percent >> std::ws;
    if (!flat_percent.ends_with('%') || !std::getline(words, line.name)) continue;
    line.flat_percent = std::strtod(flat_percent.c_str(), nullptr);
    line.cumulative_percent = std::strtod(cumulative_percent.c_str(), nullptr);
    lines.push_back(line);
  }
  std::free(text);
  pclose(pipe);
  return lines;
}

void AddDigest(const std::string& title, const std::string& path, std::string_view mode,
               std::vector<std::string>* notes) {
  const std::vector<ProfileLine> lines = ReadProfile(path, mode);
  if (lines.empty()) {
    notes->push_back(title + ": " + path + " (no samples, or google-pprof is not installed)");
    return;
  }
  double key_arena_percent = 0;
  std::string text = title + ": " + path + "; top functions:";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].name.find("KeyArena") != std::string::npos) {
      key_arena_percent = std::max(key_arena_percent, lines[i].cumulative_percent);
    }
    if (i >= kTopFunctions) continue;
    std::ostringstream entry;
    entry << (i == 0 ? " " : ", ") << lines[i].flat_percent << " % " << lines[i].name;
    text += entry.str();
  }
  std::ostringstream share;
  share << "; share of KeyArena with what it calls: " << key_arena_percent << " %";
  notes->push_back(text + share.str());
}

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
  std::string name = title_;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '/' || c == ' '; }, '.');
  base_path_ = config.profile_dir + "/" + name;
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

std::vector<std::string> TestProfile::Finish() {
  std::vector<std::string> notes;
  if (base_path_.empty()) return notes;
  const std::filesystem::path base = base_path_;
  Stop();
  AddDigest("CPU profile of " + title_, base.string() + ".cpu", "", &notes);
  std::string last;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(base.parent_path(), error)) {
    const std::string path = entry.path().string();
    if (path.starts_with(base.string() + ".") && path.ends_with(".heap")) last = std::max(last, path);
  }
  if (!last.empty()) AddDigest("Heap profile of " + title_ + " (bytes allocated)", last, "--alloc_space", &notes);
  return notes;
}

}  // namespace strongbin::dbbench
