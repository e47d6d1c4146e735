#include "strongbin/tools/dbbench/profile_digest.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "strongbin/tools/dbbench/child_process.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/profile.h"

namespace strongbin::dbbench {
namespace {

constexpr size_t kTopFunctions = 10;
constexpr std::string_view kKeyArena = "KeyArena";
constexpr std::string_view kFresh = "ChunkPool::Fresh";

std::string RunPprof(const std::string& options, const std::string& program, const std::string& path) {
  return OutputOf("LD_PRELOAD= google-pprof --text " + options + " '" + program + "' '" + path + "' 2>/dev/null");
}

// The most that a function of the key arena had below it.
ProfileLine KeyArenaOf(const ProfileText& profile) {
  ProfileLine most;
  for (const ProfileLine& line : profile.lines) {
    if (line.name.find(kKeyArena) != std::string::npos && line.cumulative > most.cumulative) most = line;
  }
  return most;
}

void PrintTop(const std::string& title, const ProfileText& profile) {
  if (profile.lines.empty()) {
    std::printf("%s: no samples, or google-pprof is not installed\n\n", title.c_str());
    return;
  }
  std::printf(
      "%s, share of KeyArena with what it calls: %s %%\n\n| own %% | with callees %% | function |\n| ---: | ---: | --- "
      "|\n",
      title.c_str(), Significant(KeyArenaOf(profile).cumulative_percent).c_str());
  // Of those behind the first ones, what the pool is about.
  for (size_t i = 0; i < profile.lines.size(); ++i) {
    const ProfileLine& line = profile.lines[i];
    const bool ours = line.cumulative > 0 &&
                      (line.name.find(kKeyArena) != std::string::npos || line.name.find(kFresh) != std::string::npos);
    if (i >= kTopFunctions && !ours) continue;
    std::printf("| %s | %s | `%s` |\n", Significant(line.flat_percent).c_str(),
                Significant(line.cumulative_percent).c_str(), line.name.c_str());
  }
  std::printf("\n");
}

std::string LastHeapProfile(const std::string& base) {
  std::string last;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(base).parent_path(), error)) {
    const std::string path = entry.path().string();
    if (path.starts_with(base + ".") && path.ends_with(".heap")) last = std::max(last, path);
  }
  return last;
}

double SumOf(const nlohmann::json& rows, const std::string& engine, const std::string& test, const char* column) {
  double sum = 0;
  for (const nlohmann::json& row : rows) {
    if (row.value("engine", "") == engine && row.value("test", "") == test &&
        row.value(column, nlohmann::json()).is_number()) {
      sum += row.at(column).get<double>();
    }
  }
  return sum;
}

void PrintTest(const nlohmann::json& report, const std::string& directory, const std::string& engine,
               const std::string& test) {
  const std::string program = report["settings"].value("program", "");
  const std::string base = ProfilePath(directory, engine, test);
  std::printf("## %s, %s\n\n", engine.c_str(), test.c_str());
  PrintTop("CPU", ParseProfileText(RunPprof("", program, base + ".cpu")));
  const std::string heap = LastHeapProfile(base);
  if (heap.empty()) {
    std::printf("No heap profile.\n\n");
    return;
  }
  const ProfileText bytes = ParseProfileText(RunPprof("--show_bytes --alloc_space", program, heap));
  const ProfileText objects = ParseProfileText(RunPprof("--alloc_objects", program, heap));
  PrintTop("Bytes asked of malloc (" + Bytes(static_cast<uint64_t>(bytes.total)) + ")", bytes);
  std::printf("Calls of malloc: %s, by KeyArena with what it calls: %s\n\n",
              Grouped(static_cast<uint64_t>(objects.total)).c_str(),
              Grouped(static_cast<uint64_t>(KeyArenaOf(objects).cumulative)).c_str());
  const nlohmann::json& rows = report["rows"];
  const double chunks = SumOf(rows, engine, test, "fresh_chunks_key");
  KeyMemory memory;
  memory.profiled_bytes = KeyArenaOf(bytes).cumulative;
  memory.counted_bytes = SumOf(rows, engine, test, "fresh_chunk_bytes_key");
  memory.from_malloc = report["engines"].value(engine, "").find("chunks from malloc") != std::string::npos;
  std::printf("Counted: %s fresh chunks for keys. %s\n\n", Grouped(static_cast<uint64_t>(chunks)).c_str(),
              CompareKeyMemory(memory).c_str());
}

}  // namespace

ProfileText ParseProfileText(std::string_view text) {
  ProfileText profile;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (line.starts_with("Total:")) {
      std::string skipped;
      words >> skipped >> profile.total;
      continue;
    }
    ProfileLine parsed;
    std::string flat_percent, sum_percent, cumulative_percent;
    words >> parsed.flat >> flat_percent >> sum_percent >> parsed.cumulative >> cumulative_percent >> std::ws;
    if (!flat_percent.ends_with('%') || !cumulative_percent.ends_with('%') || !std::getline(words, parsed.name))
      continue;
    parsed.flat_percent = std::strtod(flat_percent.c_str(), nullptr);
    parsed.cumulative_percent = std::strtod(cumulative_percent.c_str(), nullptr);
    profile.lines.push_back(parsed);
  }
  return profile;
}

std::string CompareKeyMemory(const KeyMemory& memory) {
  constexpr double kAgree = 0.05;
  const std::string numbers = "The profile has " + Bytes(static_cast<uint64_t>(memory.profiled_bytes)) +
                              " below KeyArena, the count of fresh chunks for keys " +
                              Bytes(static_cast<uint64_t>(memory.counted_bytes)) + ": ";
  if (memory.counted_bytes == 0 && memory.profiled_bytes == 0) return numbers + "they agree.";
  const double difference = memory.profiled_bytes / std::max(memory.counted_bytes, 1.0) - 1;
  if (std::fabs(difference) <= kAgree) return numbers + "they agree.";
  if (!memory.from_malloc) {
    return numbers +
           "they DISAGREE, since these chunks are carved from mapped slabs, which a heap profiler does not see; "
           "profile with --chunk_source=malloc. The count is right.";
  }
  if (memory.profiled_bytes > memory.counted_bytes) {
    return numbers +
           "they DISAGREE: the profile runs over all of a test, the work between its rounds included; the count "
           "is that of the rounds.";
  }
  return numbers +
         "they DISAGREE: chunks that were taken before the profile began, or through a caller that the "
         "compiler has put in another's place, are not in it. The count is right.";
}

int PrintProfiles(const std::string& directory) {
  std::ifstream file(directory + "/report.json");
  const nlohmann::json report = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!report.is_object() || !report.contains("rows")) {
    std::fprintf(stderr, "dbbench profile: %s holds no run that was made with --profile_dir\n", directory.c_str());
    return 1;
  }
  std::printf("# Profiles in %s\n\n", directory.c_str());
  std::set<std::pair<std::string, std::string>> seen;
  for (const nlohmann::json& row : report["rows"]) {
    const std::pair<std::string, std::string> name = {row.value("engine", ""), row.value("test", "")};
    if (seen.insert(name).second) PrintTest(report, directory, name.first, name.second);
  }
  return 0;
}

}  // namespace strongbin::dbbench
