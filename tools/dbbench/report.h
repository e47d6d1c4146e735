// The results of a call, and the ways to write them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "strongbin/tools/dbbench/config.h"
#include "strongbin/tools/dbbench/engine.h"
#include "strongbin/tools/dbbench/latency_histogram.h"
#include "strongbin/tools/dbbench/measure.h"

namespace strongbin::dbbench {

struct CurvePoint {
  double share = 0;  // of all durations, that last at most
  uint64_t ns = 0;
};
// The whole distribution, thinned out to steps that a picture can show.
std::vector<CurvePoint> CurveOf(const LatencyHistogram& histogram);

struct LatencySummary {
  uint64_t count = 0;
  uint64_t p50_ns = 0;
  uint64_t p90_ns = 0;
  uint64_t p99_ns = 0;
  uint64_t p999_ns = 0;
  uint64_t p9999_ns = 0;
  uint64_t max_ns = 0;
};
LatencySummary Summarize(const LatencyHistogram& histogram);

// One engine, one test, one round. What was not measured is absent, never 0.
struct Row {
  std::string engine;
  std::string test;
  std::string round;   // "1 cold", "2 warm", ...
  std::string timing;  // what one latency is: "batch of 1,000", "single"
  std::string loop;    // "closed" or "open"
  bool finished = false;
  bool measured = false;  // false: the note says why there are no numbers
  std::string note;

  uint64_t planned_operations = 0;
  uint64_t operations = 0;
  uint64_t distinct_keys = 0;
  uint64_t bytes = 0;  // keys and values written and read
  double wall_seconds = 0;
  double ops_per_second = 0;
  double us_per_op = 0;
  double cpu_us_per_op = 0;  // processor time of the whole process, background work included
  std::optional<double> drain_seconds;
  std::optional<double> total_ops_per_second;  // drain included
  std::optional<uint64_t> asked;
  std::optional<uint64_t> found;
  std::optional<uint64_t> drained_keys;
  std::optional<uint64_t> checksum;

  std::optional<LatencySummary> service;
  std::optional<LatencySummary> intended;
  // In the JSON report alone.
  std::vector<CurvePoint> service_curve;
  std::vector<TimePoint> timeline;

  std::optional<double> allocations_per_op;
  std::optional<double> allocated_bytes_per_op;
  std::optional<double> table_bytes_per_entry;
  std::optional<uint64_t> tables;
  uint64_t minor_faults = 0;
  std::optional<uint64_t> drain_faults;
  uint64_t resident_before_bytes = 0;
  uint64_t resident_after_bytes = 0;
  std::optional<PoolNumbers> pool;
};

struct PoolReport {
  std::string engine;
  std::string text;
  std::string json;
};

using Facts = std::vector<std::pair<std::string, std::string>>;

struct Report {
  Facts environment;
  Facts settings;
  Facts parameters;  // the settings for programs, in the JSON report alone
  Facts engines;     // name and description
  std::vector<Row> rows;
  std::vector<PoolReport> pools;
  std::vector<std::string> notes;
  bool interrupted = false;
  bool agreed = true;  // no engine failed, and what was read or drained is the same on all
};

// ---- Columns: each named once, used by every format ----

using CellValue = std::variant<std::monostate, std::string, uint64_t, double>;  // monostate: not measured
enum class CellStyle : uint8_t { kText, kCount, kNumber, kSeconds, kBytes, kDuration };
// In which table for people.
enum class TableKind : uint8_t { kEvery, kThroughput, kContent, kLatency, kMemory, kPool };

struct Column {
  std::string id;      // in JSON and CSV, unit included
  std::string header;  // for people
  TableKind table;
  CellStyle style;
  CellValue (*value)(const Row&);
};
std::span<const Column> Columns();
std::string ForPeople(const CellValue& value, CellStyle style);

std::string ToMarkdown(const Report& report);
std::string ToJson(const Report& report);
std::string ToCsv(const Report& report);
std::string Render(const Report& report, OutputFormat format);

}  // namespace strongbin::dbbench
