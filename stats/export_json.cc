#include <optional>

#include "strongbin/stats/escape.h"
#include "strongbin/stats/export.h"
#include "strongbin/stats/metric_view.h"

namespace strongbin {
namespace {

using stats_internal::AppendDecimal;
using stats_internal::AppendJsonString;
using stats_internal::MetricView;

void AppendMember(std::string& out, std::string_view name, uint64_t value) {
  AppendJsonString(out, name);
  out += ": ";
  AppendDecimal(out, value);
}

void AppendMetric(std::string& out, const MetricView& view) {
  if (view.info.labels.empty()) {
    AppendMember(out, view.info.name, view.values[0]);
    return;
  }
  AppendJsonString(out, view.info.name);
  out += ": {";
  for (size_t i = 0; i < view.values.size(); ++i) {
    if (i > 0) out += ", ";
    AppendMember(out, view.info.labels[i], view.values[i]);
  }
  if (const std::optional<uint64_t> sum = SumOf(view.info, view.values)) {
    out += ", ";
    AppendMember(out, "sum", *sum);
  }
  out += '}';
}

template <class Stats>
std::string JsonOf(const Stats& stats, const StatsLabels& labels) {
  std::string out = "{\n  \"group\": ";
  AppendJsonString(out, stats_internal::kGroupOf<Stats>);
  out += ",\n  \"labels\": {";
  for (size_t i = 0; i < labels.size(); ++i) {
    if (i > 0) out += ", ";
    AppendJsonString(out, labels[i].first);
    out += ": ";
    AppendJsonString(out, labels[i].second);
  }
  out += "},\n  \"metrics\": {";
  const char* separator = "\n    ";
  for (const MetricView& view : stats_internal::ViewsOf(stats)) {
    out += separator;
    AppendMetric(out, view);
    separator = ",\n    ";
  }
  out += "\n  }\n}\n";
  return out;
}

}  // namespace

std::string ToJson(const PoolStats& stats, const StatsLabels& labels) { return JsonOf(stats, labels); }
std::string ToJson(const TableStats& stats, const StatsLabels& labels) { return JsonOf(stats, labels); }
std::string ToJson(const RocksDBStats& stats, const StatsLabels& labels) { return JsonOf(stats, labels); }

}  // namespace strongbin
