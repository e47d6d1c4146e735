#include "strongbin/tools/dbbench/gate/metrics.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace strongbin::dbbench {
namespace {

using enum MetricKind;

constexpr std::array kMetrics = {
    Metric{"ops", "operations per second, drains excluded", kPerSecond, "wall_seconds"},
    Metric{"warm_ops", "the same from the second round on", kPerSecond, "wall_seconds", true},
    Metric{"cpu_us", "processor time of the process per operation, us", kPerOperation, "cpu_us_per_op"},
    Metric{"p50_ns", "median latency of a batch, mean of the rounds", kPerOperation, "service_p50_ns"},
    Metric{"p99_ns", "99th percentile of the latency of a batch, mean of the rounds", kPerOperation, "service_p99_ns"},
    Metric{"max_ns", "longest batch", kMost, "service_max_ns"},
    Metric{"fresh_key_chunks", "chunks for keys that came from no bin", kSum, "fresh_chunks_key"},
    Metric{"warm_fresh_key_chunks", "the same from the second round on", kSum, "fresh_chunks_key", true},
    Metric{"fresh_key_bytes", "their bytes", kSum, "fresh_chunk_bytes_key"},
    Metric{"fresh_chunks", "chunks of all kinds that came from no bin", kSum, "fresh_chunks"},
    Metric{"warm_fresh_chunks", "the same from the second round on", kSum, "fresh_chunks", true},
    Metric{"mapped_bytes", "bytes that the pool took from the operating system", kSum, "mapped_bytes"},
    Metric{"faults", "page faults while writing or reading", kSum, "minor_faults"},
    Metric{"warm_faults", "the same from the second round on", kSum, "minor_faults", true},
    Metric{"rss", "largest resident size at the end of a round, bytes", kMost, "resident_after_bytes"},
    Metric{"allocs", "calls of malloc per operation on the threads of the test", kPerOperation, "allocations_per_op"},
    Metric{"alloc_bytes", "bytes asked of malloc per operation", kPerOperation, "allocated_bytes_per_op"},
};

std::optional<double> Number(const nlohmann::json& row, std::string_view column) {
  const auto value = row.find(column);
  if (value == row.end() || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

bool IsWarm(const nlohmann::json& row) { return row.value("round", "").ends_with("warm"); }

// Of rows that all have the column; nothing otherwise.
std::optional<double> ValueOf(const Metric& metric, const std::vector<const nlohmann::json*>& rows) {
  double sum = 0, most = 0, operations = 0;
  bool any = false;
  for (const nlohmann::json* row : rows) {
    if (metric.warm_only && !IsWarm(*row)) continue;
    const auto value = Number(*row, metric.column);
    const auto of_row = Number(*row, "operations");
    if (!value || !of_row) return std::nullopt;
    sum += metric.kind == kPerOperation ? *value * *of_row : *value;
    most = std::max(most, *value);
    operations += *of_row;
    any = true;
  }
  if (!any) return std::nullopt;
  switch (metric.kind) {
    case kPerSecond:
      return sum > 0 ? std::optional(operations / sum) : std::nullopt;
    case kPerOperation:
      return operations > 0 ? std::optional(sum / operations) : std::nullopt;
    case kSum:
      return sum;
    case kMost:
      break;
  }
  return most;
}

// Ranks and means of the comparison know nothing below 0.
bool AllAreMeasures(const RunMetrics& run) {
  for (const auto& [test, values] : run) {
    for (const auto& [metric, value] : values) {
      if (value < 0) return false;
    }
  }
  return true;
}

// What was done and what came of it, by test, round and timing.
using Contents = std::map<std::tuple<std::string, std::string, std::string>, std::pair<nlohmann::json, std::string>>;

Contents ContentsOf(const nlohmann::json& report) {
  Contents contents;
  for (const nlohmann::json& row : report.at("rows")) {
    if (!row.contains("checksum") || !row["checksum"].is_string()) continue;
    contents[{row.value("test", ""), row.value("round", ""), row.value("timing", "")}] = {
        {row.at("operations"), row.at("distinct_keys"), row.at("bytes")}, row["checksum"].get<std::string>()};
  }
  return contents;
}

}  // namespace

std::span<const Metric> AllMetrics() { return kMetrics; }

const Metric* FindMetric(std::string_view name) {
  for (const Metric& metric : kMetrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

std::string MetricNames() {
  std::string names;
  for (const Metric& metric : kMetrics) names.append(names.empty() ? "" : ", ").append(metric.name);
  return names;
}

bool MetricsOf(const nlohmann::json& report, RunMetrics* metrics, std::string* error) {
  metrics->clear();
  const auto rows = report.find("rows");
  if (rows == report.end() || !rows->is_array() || rows->empty()) {
    *error = "the run has no rows";
    return false;
  }
  const std::string engine = rows->front().value("engine", "");
  std::map<std::string, std::vector<const nlohmann::json*>> by_test;
  for (const nlohmann::json& row : *rows) {
    if (row.value("engine", "") != engine) {
      *error = "a side is one engine; this one ran " + engine + " and " + row.value("engine", "");
      return false;
    }
    if (row.value("finished", "") != "yes") {
      *error = engine + " " + row.value("test", "") + ": " + row.value("note", "not finished");
      return false;
    }
    if (row.value("timing", "") != "single") by_test[row.value("test", "")].push_back(&row);
  }
  for (const auto& [test, of_test] : by_test) {
    for (const Metric& metric : kMetrics) {
      if (const auto value = ValueOf(metric, of_test)) (*metrics)[test][std::string(metric.name)] = *value;
    }
  }
  return true;
}

bool MetricsOfPair(const nlohmann::json& pair, PairMetrics* metrics, std::string* error) {
  for (const char* side : {"baseline", "candidate"}) {
    if (!pair.contains(side) || !pair[side].contains("metrics") || !pair[side].contains("report")) {
      *error = "a pair without the results of both sides";
      return false;
    }
  }
  metrics->baseline = pair["baseline"]["metrics"].get<RunMetrics>();
  metrics->candidate = pair["candidate"]["metrics"].get<RunMetrics>();
  if (!AllAreMeasures(metrics->baseline) || !AllAreMeasures(metrics->candidate)) {
    *error = "a metric below 0";
    return false;
  }
  const Contents baseline = ContentsOf(pair["baseline"]["report"]);
  for (const auto& [where, content] : ContentsOf(pair["candidate"]["report"])) {
    const auto other = baseline.find(where);
    if (other == baseline.end() || other->second.first != content.first) continue;  // other work
    if (other->second.second == content.second) continue;
    *error = std::get<0>(where) + ", round " + std::get<1>(where) + ": the sides do not have the same content";
    return false;
  }
  return true;
}

}  // namespace strongbin::dbbench
