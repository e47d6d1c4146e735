#include "strongbin/tools/dbbench/session.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "strongbin/tools/dbbench/alloc_counter.h"
#include "strongbin/tools/dbbench/engine_session.h"
#include "strongbin/tools/dbbench/environment.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/monitor.h"

namespace strongbin::dbbench {
namespace {

// Equal work must have left or shown equal content on every engine.
void CompareContent(Report* report) {
  std::map<std::pair<std::string, std::string>, const Row*> first;
  size_t compared = 0;
  for (Row& row : report->rows) {
    if (!row.finished || !row.checksum) continue;
    const Row& reference = *first.try_emplace({row.test, row.timing}, &row).first->second;
    if (reference.engine != row.engine) ++compared;
    if (reference.checksum == row.checksum && reference.operations == row.operations &&
        reference.distinct_keys == row.distinct_keys && reference.found == row.found) {
      continue;
    }
    row.note = "CONTENT DIFFERS from " + reference.engine + " " + reference.round;
    report->agreed = false;
  }
  if (compared > 0) {
    report->notes.push_back(
        report->agreed ? "Operation counts, distinct keys and checksums are equal on all engines that finished a test."
                       : "NOT all engines did the same work or have the same content; see the notes of the rows.");
  }
}

void AddStandingNotes(const Config& config, Report* report) {
  auto& notes = report->notes;
  notes.push_back(
      "Keys are made ahead of the clock. The clock runs from the first thread's start to the last one's end, drains "
      "excluded.");
  notes.push_back(
      "A latency is that of the named unit, a batch or a single operation; single operations are timed in a run of "
      "their own.");
  if (AllocationsAreCounted()) {
    notes.push_back(
        "mallocs are counted exactly on the threads of the test, in every run; RocksDB's background threads are not "
        "counted.");
  }
  notes.push_back("table B/entry is the memtable's own account, at the moment it was full or the test ended.");
  bool reads = false;
  for (const TestKind test : config.tests) reads |= !WritesOnly(test);
  if (reads) {
    notes.push_back(
        "Tests that read hold the whole data set in one memtable on every engine, loaded ahead of the clock in random "
        "order; their pool numbers include the loading.");
    notes.push_back("mixed: " + std::to_string(kMixedReadPercent) + " % point reads, " +
                    std::to_string(kMixedWritePercent) +
                    " % overwrites, the rest scans; a scan, and an operation of seekrandom, seeks and reads " +
                    std::to_string(kScanEntries) + " entries.");
  }
}

}  // namespace

WorkDirectory::WorkDirectory(const Config& config) {
  std::error_code error;
  std::filesystem::path parent = config.db_dir;
  if (parent.empty()) parent = std::filesystem::temp_directory_path(error);
  if (!error) std::filesystem::create_directories(parent, error);
  std::string name = (parent / "dbbench-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr) {
    error_ = "cannot make a directory below " + parent.string() + (config.db_dir.empty() ? "" : " (--db)");
    return;
  }
  path_ = name;
}

WorkDirectory::~WorkDirectory() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

Report RunSession(const Config& config, const std::string& directory) {
  Report report;
  report.environment = DescribeEnvironment(directory);
  report.settings = DescribeSettings(config);
  report.parameters = PlainParameters(config);
  report.notes = BuildWarnings();
  AddStandingNotes(config, &report);
  for (const std::string& name : config.dbs) {
    if (!Interrupted()) EngineSession(config, name, directory, &report).RunAll();
  }
  report.interrupted = Interrupted();
  if (report.interrupted) report.notes.push_back("Ended by Ctrl-C; what is shown was measured before.");
  CompareContent(&report);
  return report;
}

}  // namespace strongbin::dbbench
