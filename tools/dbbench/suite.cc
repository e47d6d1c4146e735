#include "strongbin/tools/dbbench/suite.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <gflags/gflags.h>

#include "strongbin/tools/command_line.h"
#include "strongbin/tools/dbbench/child_process.h"
#include "strongbin/tools/dbbench/flags.h"
#include "strongbin/tools/dbbench/monitor.h"
#include "strongbin/tools/dbbench/page/chart.h"
#include "strongbin/tools/dbbench/page/page.h"

DEFINE_string(suite_dir, "", "folder for the results and the page of a suite; empty: dbbench-suite-NAME");

namespace strongbin::dbbench {
namespace {

constexpr const char* kMain = "--dbs=memtable,kv,rocksdb:strongbin,rocksdb:skip_list";
constexpr const char* kEvery =
    "--dbs=memtable,kv,rocksdb:strongbin,rocksdb:skip_list,rocksdb:vector,rocksdb:prefix_hash";
constexpr const char* kWithLog = "--dbs=kv,rocksdb:strongbin,rocksdb:skip_list";
constexpr const char* kGateTests = "--tests=dataset_write_random,dataset_write_sorted";

// How large the parts of a suite are.
struct SuiteSize {
  std::string_view name;
  uint64_t keys;          // of most parts
  uint64_t durable_keys;  // of the gate's two workloads
  std::vector<uint64_t> table_sizes;
  std::vector<uint64_t> threads;
};

std::vector<SuiteSize> Sizes() {
  return {{"quick", 200'000, 200'000, {10'000, 100'000}, {1, 2}},
          {"full", 2'000'000, 2'000'000, {10'000, 100'000, 1'000'000}, {1, 2, 4}},
          {"paper", 2'000'000, 10'000'000, {10'000, 100'000, 1'000'000, 10'000'000}, {1, 2, 4, 8}}};
}

std::string Flag(const char* name, uint64_t value) { return std::string("--") + name + "=" + std::to_string(value); }

}  // namespace

std::vector<SuiteRun> SuiteOf(std::string_view name) {
  std::vector<SuiteRun> runs;
  for (const SuiteSize& size : Sizes()) {
    if (size.name != name) continue;
    const std::string keys = Flag("keys", size.keys);
    runs.push_back({"writes", {kMain, kGateTests, keys, "--generations=4", "--timeline_ms=50"}});
    // The gate's workloads, as they are stated.
    runs.push_back({"durable",
                    {kWithLog, kGateTests, Flag("keys", size.durable_keys), "--profile=durable", "--batchsize=8000",
                     "--valsize=128", "--checkpoint_between_tests", "--generations=2", "--latency_ops=1000",
                     "--timeline_ms=100"}});
    runs.push_back({"durable_pool_off",
                    {"--dbs=kv,rocksdb:strongbin", kGateTests, Flag("keys", size.durable_keys), "--profile=durable",
                     "--batchsize=8000", "--valsize=128", "--checkpoint_between_tests", "--generations=2",
                     "--latency_ops=1000", "--pool_cap_bytes=0", "--timeline_ms=100"}});
    runs.push_back({"reads_and_mixed", {kMain, "--tests=readrandom,seekrandom,readseq,overwrite,mixed", keys}});
    for (const uint64_t threads : size.threads) {
      runs.push_back({"threads_" + std::to_string(threads),
                      {kMain, "--tests=dataset_write_random,readrandom,mixed", keys, Flag("threads", threads),
                       "--latency_ops=0"}});
    }
    for (const uint64_t table : size.table_sizes) {
      runs.push_back({"table_size_" + std::to_string(table),
                      {kEvery, "--tests=dataset_write_random,dataset_write_sorted,readrandom", Flag("keys", table),
                       "--reads=" + std::to_string(table < 100'000 ? 100'000 : table), "--latency_ops=0"}});
    }
    runs.push_back({"cursor", {"cursor"}});
  }
  return runs;
}

std::string ReadSuiteFlags(const std::string& name, SuiteConfig* suite) {
  suite->name = name;
  if (SuiteOf(name).empty()) return "suite needs one of: quick, full, paper";
  if (!GnuplotIsInstalled()) return "suite draws with gnuplot, which is not installed (Debian: gnuplot-nox)";
  suite->directory = FLAGS_suite_dir.empty() ? "dbbench-suite-" + name : FLAGS_suite_dir;
  suite->common_flags = GivenRunFlags({"format", "out", "progress"});
  return {};
}

std::string SuiteFlagList() { return FlagList("dbbench/suite.cc"); }

int RunSuite(const SuiteConfig& suite) {
  std::error_code error;
  std::filesystem::create_directories(suite.directory, error);
  std::vector<std::string> results;
  bool all_good = !error;
  for (const SuiteRun& run : SuiteOf(suite.name)) {
    const std::string path = suite.directory + "/" + run.name + ".json";
    results.push_back(path);
    if (std::filesystem::exists(path, error)) continue;
    std::vector<std::string> arguments = {ThisProgram()};
    arguments.insert(arguments.end(), run.arguments.begin(), run.arguments.end());
    arguments.insert(arguments.end(), suite.common_flags.begin(), suite.common_flags.end());
    arguments.insert(arguments.end(), {"--format=json", "--progress=false"});
    std::fprintf(stderr, "dbbench suite: %s\n", run.name.c_str());
    // Under its own name only once it is whole.
    const ChildResult child = RunChild(arguments, "", path + ".part");
    if (Interrupted() || child.status == kInterruptedStatus) {
      std::filesystem::remove(path + ".part", error);
      std::fprintf(stderr, "dbbench suite: interrupted; the same command goes on\n");
      return kInterruptedStatus;
    }
    if (!child.started || child.status != 0) {
      std::fprintf(stderr, "dbbench suite: %s ended with status %d; %s\n", run.name.c_str(), child.status,
                   child.errors.c_str());
      all_good = false;
      results.pop_back();
      continue;
    }
    std::filesystem::rename(path + ".part", path, error);
  }
  PageConfig page;
  page.html_path = suite.directory + "/report.html";
  page.markdown_path = suite.directory + "/report.md";
  page.figure_folder = suite.directory + "/figures";
  const int written = WritePage(page, results);
  if (written == 0) std::printf("%s\n", page.html_path.c_str());
  return all_good && written == 0 ? 0 : 1;
}

}  // namespace strongbin::dbbench
