// What one call of dbbench is asked to do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strongbin::dbbench {

enum class TestKind : uint8_t {
  kWriteRandom,
  kWriteSorted,
  kOverwrite,
  kReadRandom,
  kSeekRandom,
  kReadSequential,
  kMixed,
};
inline constexpr std::array<std::string_view, 7> kTestNames = {
    "dataset_write_random", "dataset_write_sorted", "overwrite", "readrandom", "seekrandom", "readseq", "mixed"};

enum class Profile : uint8_t { kFast, kDurable };
inline constexpr std::array<std::string_view, 2> kProfileNames = {"fast", "durable"};
enum class OutputFormat : uint8_t { kMarkdown, kJson, kCsv };
inline constexpr std::array<std::string_view, 3> kFormatNames = {"markdown", "json", "csv"};
enum class SourceChoice : uint8_t { kMmap, kMalloc };
inline constexpr std::array<std::string_view, 2> kSourceNames = {"mmap", "malloc"};
inline constexpr std::array<std::string_view, 2> kSwitchNames = {"off", "on"};

template <class E>
constexpr size_t Index(E value) {
  return static_cast<size_t>(value);
}
constexpr std::string_view TestName(TestKind test) { return kTestNames[Index(test)]; }

// Tests that only write end with a drain of everything written; the others read a data set that is loaded ahead of the
// clock.
constexpr bool WritesOnly(TestKind test) {
  return test == TestKind::kWriteRandom || test == TestKind::kWriteSorted || test == TestKind::kOverwrite;
}
// Tests that start from a loaded data set.
constexpr bool StartsLoaded(TestKind test) { return test != TestKind::kWriteRandom && test != TestKind::kWriteSorted; }

// seekrandom and the scans of mixed read this many entries from the key they seek.
inline constexpr uint64_t kScanEntries = 11;
// mixed: of 100 operations so many are point reads, so many overwrite one key, and the rest scan.
inline constexpr unsigned kMixedReadPercent = 70;
inline constexpr unsigned kMixedWritePercent = 20;

struct Config {
  std::vector<std::string> dbs;
  std::vector<TestKind> tests;
  uint64_t keys = 0;
  uint64_t reads = 0;  // operations of the tests that read; never 0 once validated
  uint64_t latency_ops = 0;
  size_t key_bytes = 0;
  size_t value_bytes = 0;
  size_t batch_entries = 0;
  size_t threads = 0;
  uint64_t seed = 0;
  std::string label;
  Profile profile = Profile::kFast;
  size_t memtable_bytes = 0;
  size_t pool_cap_bytes = 0;
  SourceChoice chunk_source = SourceChoice::kMmap;
  bool huge_pages = true;
  bool histogram = true;
  bool checkpoint_between_tests = false;
  uint64_t generations = 1;
  double rate_per_second = 0;  // 0: closed loop
  double max_seconds = 0;      // 0: no limit
  OutputFormat format = OutputFormat::kMarkdown;
  std::string out_path;
  bool progress = true;
  double stats_interval_seconds = 0;
  uint64_t timeline_ms = 0;  // 0: none
  std::string profile_dir;
  std::string db_dir;
  uint64_t inject_pause_ms = 0;  // one pause in the middle of each timed run, to test the latency account
  double inject_slowdown = 0;    // share of the rate that each timed run loses, to test what compares rates
  std::string command_line;
};

// The position of `name` among `names`.
template <size_t N>
std::optional<size_t> Find(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return i;
  }
  return std::nullopt;
}

}  // namespace strongbin::dbbench
