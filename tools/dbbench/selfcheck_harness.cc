// Bounds on the harness: what it costs, that its totals are totals, that it does not grow, that it sees a stall.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/report.h"
#include "strongbin/tools/dbbench/selfcheck.h"
#include "strongbin/tools/dbbench/selfcheck_tools.h"
#include "strongbin/tools/dbbench/session.h"

namespace strongbin::dbbench {
namespace {

std::string Percent(double ratio) { return Grouped(100 * ratio, 2) + " %"; }

// What the harness itself costs, shown by an engine that does nothing.
std::vector<CheckRow> HarnessCost(const CheckContext& context) {
  constexpr double kBound = 0.05;
  std::vector<CheckRow> rows;
  Config config = SelfcheckConfig(context.config, {"rocksdb:skip_list", "rocksdb:strongbin", "memtable"},
                                  {TestKind::kWriteRandom, TestKind::kReadRandom});
  const Report engines = RunSession(config, context.directory);
  config.dbs = {"none"};
  config.keys = config.reads = 4'000'000;
  for (const size_t threads : {size_t{1}, size_t{2}, size_t{4}, size_t{8}}) {
    config.threads = threads;
    for (const Row& empty : RunSession(config, context.directory).rows) {
      const std::string name = "harness cost, " + empty.test + ", " + std::to_string(threads) + " threads";
      const std::string cost = Significant(1e3 * empty.us_per_op) + " ns/op";
      if (threads > 1) {
        rows.push_back({name, "", cost});
        continue;
      }
      for (const Row& engine : engines.rows) {
        if (engine.test != empty.test) continue;
        const bool bounded = engine.engine != "memtable";  // the bare component is told
        const double share = empty.us_per_op / engine.us_per_op;
        rows.push_back({name + ", beside " + engine.engine, bounded ? "< " + Percent(kBound) : "",
                        cost + ", " + Percent(share) + " of " + Significant(engine.us_per_op) + " us/op",
                        !bounded || share < kBound});
      }
    }
  }
  return rows;
}

// Totals are totals, whatever the number of threads, and the rate is operations by wall time.
std::vector<CheckRow> Totals(const CheckContext& context) {
  std::vector<CheckRow> rows;
  Config config = SelfcheckConfig(context.config, {"memtable", "rocksdb:skip_list"},
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
    Config config = SelfcheckConfig(context.config, {engine}, {TestKind::kWriteRandom});
    config.generations = 10;
    const Report report = RunSession(config, context.directory);
    uint64_t low = ~uint64_t{0};
    uint64_t high = 0;
    uint64_t faults = 0;
    std::vector<double> rates;
    bool finished = report.rows.size() == config.generations;
    for (size_t i = 1; i < report.rows.size(); ++i) {
      low = std::min(low, report.rows[i].resident_after_bytes);
      high = std::max(high, report.rows[i].resident_after_bytes);
      finished &= report.rows[i].finished && report.rows[i].checksum == report.rows[0].checksum;
      faults = std::max(faults, report.rows[i].minor_faults);
      rates.push_back(report.rows[i].ops_per_second);
    }
    if (!finished) return {{std::string("ten rounds of ") + engine, "finished, equal checksums", "not so", false}};
    const bool ours = std::string_view(engine) == "memtable";  // glibc keeps what RocksDB frees, more or less of it
    const double spread = static_cast<double>(high - low) / static_cast<double>(low);
    rows.push_back({std::string("resident size of rounds 2 to 10, ") + engine,
                    ours ? "spread < " + Percent(kBound) : "",
                    Percent(spread) + " (" + Bytes(low) + " to " + Bytes(high) + ")", !ours || spread < kBound});
    rows.push_back({std::string("rounds 2 to 10, ") + engine + ", each with the checksum of the first", "",
                    Spread(rates, " op/s") + "; at most " + Grouped(faults) + " page faults beside " +
                        Grouped(report.rows[0].minor_faults) + " in the first"});
  }
  return rows;
}

// A stall shows in the latency from the intended time, whose operations could not start.
std::vector<CheckRow> InjectedPause(const CheckContext& context) {
  constexpr uint64_t kBoundNs = 100'000'000;
  Config config = SelfcheckConfig(context.config, {"none"}, {TestKind::kWriteRandom});
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
