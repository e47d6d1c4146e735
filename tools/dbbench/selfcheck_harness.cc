#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/report.h"
#include "strongbin/tools/dbbench/selfcheck.h"
#include "strongbin/tools/dbbench/session.h"

namespace strongbin::dbbench {
namespace {

// A small quiet run that starts from the command line's settings.
Config Quiet(const CheckContext& context, std::vector<std::string> dbs, std::vector<TestKind> tests) {
  Config config = context.config;
  config.dbs = std::move(dbs);
  config.tests = std::move(tests);
  config.profile = Profile::kFast;
  config.key_bytes = 16;
  config.value_bytes = 128;
  config.batch_entries = 1000;
  config.threads = 1;
  config.generations = 1;
  config.rate_per_second = 0;
  config.inject_pause_ms = 0;
  config.latency_ops = 0;
  config.histogram = true;
  config.checkpoint_between_tests = false;
  config.profile_dir.clear();
  config.keys = config.reads = 200'000;
  return config;
}

std::string Percent(double ratio) { return Grouped(100 * ratio, 2) + " %"; }

// What the harness itself costs, shown by an engine that does nothing.
std::vector<CheckRow> HarnessCost(const CheckContext& context) {
  constexpr double kBound = 0.05;
  std::vector<CheckRow> rows;
  Config config = Quiet(context, {"rocksdb:skip_list"}, {TestKind::kWriteRandom, TestKind::kReadRandom});
  const Report engine = RunSession(config, context.directory);
  config.dbs = {"none"};
  config.keys = config.reads = 4'000'000;
  for (const size_t threads : {size_t{1}, size_t{2}, size_t{4}}) {
    config.threads = threads;
    const Report empty = RunSession(config, context.directory);
    for (size_t i = 0; i < empty.rows.size(); ++i) {
      const double ns = 1e3 * empty.rows[i].us_per_op;
      CheckRow row;
      row.name = "harness cost, " + empty.rows[i].test + ", " + std::to_string(threads) + " threads";
      row.measured = Significant(ns) + " ns/op";
      if (threads == 1) {
        const double share = empty.rows[i].us_per_op / engine.rows[i].us_per_op;
        row.bound = "< " + Percent(kBound) + " of rocksdb:skip_list";
        row.measured += ", " + Percent(share) + " of " + Significant(engine.rows[i].us_per_op) + " us/op";
        row.pass = share < kBound;
      }
      rows.push_back(row);
    }
  }
  return rows;
}

// Totals are totals, whatever the number of threads, and the rate is operations by wall time.
std::vector<CheckRow> Totals(const CheckContext& context) {
  std::vector<CheckRow> rows;
  Config config = Quiet(context, {"memtable", "rocksdb:skip_list"},
                        {TestKind::kWriteRandom, TestKind::kOverwrite, TestKind::kReadRandom});
  config.threads = 4;
  config.keys = config.reads = 1000;
  config.batch_entries = 10;
  const Report report = RunSession(config, context.directory);
  for (const Row& result : report.rows) {
    const double rate = static_cast<double>(result.operations) / result.wall_seconds;
    const bool reads = result.found.has_value();
    const bool distinct = result.test != "dataset_write_random" || result.distinct_keys == config.keys;
    CheckRow row;
    row.name = "totals, " + result.engine + " " + result.test + ", 4 threads, 1,000 keys";
    row.bound = "1,000 operations; rate within 1 %; all found or drained";
    row.measured = Grouped(result.operations) + " operations, " + Grouped(result.distinct_keys) + " distinct keys, " +
                   Bytes(result.bytes) + ", " + Significant(result.ops_per_second) + " op/s";
    if (reads) row.measured += ", found " + Grouped(*result.found) + " of " + Grouped(*result.asked);
    if (result.drained_keys) row.measured += ", drained " + Grouped(*result.drained_keys);
    row.pass =
        result.finished && result.operations == config.keys && distinct &&
        std::fabs(result.ops_per_second - rate) <= 0.01 * rate &&
        (reads ? result.found == result.asked && *result.asked == config.reads : result.drained_keys == config.keys);
    rows.push_back(row);
  }
  rows.push_back(
      {"content equal on both engines", "equal checksums", report.agreed ? "equal" : "different", report.agreed});
  return rows;
}

// A phase that is repeated does not grow.
std::vector<CheckRow> FlatMemory(const CheckContext& context) {
  constexpr double kBound = 0.05;
  std::vector<CheckRow> rows;
  for (const char* engine : {"memtable", "rocksdb:skip_list"}) {
    Config config = Quiet(context, {engine}, {TestKind::kWriteRandom});
    config.generations = 10;
    const Report report = RunSession(config, context.directory);
    uint64_t low = ~uint64_t{0};
    uint64_t high = 0;
    bool finished = report.rows.size() == config.generations;
    for (size_t i = 1; i < report.rows.size(); ++i) {
      low = std::min(low, report.rows[i].resident_after_bytes);
      high = std::max(high, report.rows[i].resident_after_bytes);
      finished &= report.rows[i].finished;
    }
    const bool ours = std::string_view(engine) == "memtable";  // glibc keeps what RocksDB frees, more or less of it
    const double spread = finished ? static_cast<double>(high - low) / static_cast<double>(low) : 1;
    rows.push_back(
        {std::string("resident size of rounds 2 to 10, ") + engine, ours ? "spread < " + Percent(kBound) : "",
         Percent(spread) + " (" + Bytes(low) + " to " + Bytes(high) + ")", finished && (!ours || spread < kBound)});
  }
  return rows;
}

// A stall shows in the latency from the intended time, whose operations could not start.
std::vector<CheckRow> InjectedPause(const CheckContext& context) {
  constexpr uint64_t kBoundNs = 100'000'000;
  Config config = Quiet(context, {"none"}, {TestKind::kWriteRandom});
  config.batch_entries = 1;
  config.rate_per_second = 10'000;
  config.keys = 100'000;
  config.inject_pause_ms = 200;
  const Report report = RunSession(config, context.directory);
  CheckRow row = {"intended p99 with a pause of 200 ms in 10 s at 10,000 op/s", ">= 100 ms; service p99 told beside it",
                  "no run", false};
  if (report.rows.size() == 1 && report.rows[0].intended && report.rows[0].service) {
    const Row& result = report.rows[0];
    row.measured = "intended p99 " + Duration(result.intended->p99_ns) + ", service p99 " +
                   Duration(result.service->p99_ns) + ", service max " + Duration(result.service->max_ns);
    row.pass = result.finished && result.loop == "open" && result.intended->p99_ns >= kBoundNs;
  }
  return {row};
}

constexpr std::array<Check, 4> kChecks = {&HarnessCost, &Totals, &FlatMemory, &InjectedPause};

}  // namespace

std::span<const Check> HarnessChecks() { return kChecks; }

}  // namespace strongbin::dbbench
