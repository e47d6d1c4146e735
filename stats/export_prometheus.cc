#include "strongbin/stats/escape.h"
#include "strongbin/stats/export.h"
#include "strongbin/stats/metric_view.h"

namespace strongbin {
namespace {

using stats_internal::AppendDecimal;
using stats_internal::AppendHelp;
using stats_internal::AppendLabelName;
using stats_internal::AppendLabelValue;
using stats_internal::MetricView;

// A counter is named after what it counts; how much of what a gauge holds must be in its name.
std::string FamilyName(std::string_view group, const MetricInfo& info) {
  std::string name = "strongbin_";
  name += group;
  name += '_';
  name += info.name;
  if (info.type == MetricType::kCounter) {
    name += "_total";
  } else if (info.name.find(info.unit) == std::string_view::npos) {
    name += '_';
    name += info.unit;
  }
  return name;
}

std::string FamilyHead(std::string_view family_name, const MetricInfo& info) {
  std::string head = "# HELP ";
  head += family_name;
  head += ' ';
  AppendHelp(head, info.help);
  head += "\n# TYPE ";
  head += family_name;
  head += info.type == MetricType::kCounter ? " counter\n" : " gauge\n";
  return head;
}

// `name="value"` for each label, separated by commas.
std::string LabelPairs(const StatsLabels& labels) {
  std::string pairs;
  for (const auto& [name, value] : labels) {
    if (!pairs.empty()) pairs += ',';
    AppendLabelName(pairs, name);
    pairs += '=';
    AppendLabelValue(pairs, value);
  }
  return pairs;
}

void AppendSamples(std::string& out, std::string_view family_name, const std::string& caller_pairs,
                   const MetricView& view) {
  for (size_t i = 0; i < view.values.size(); ++i) {
    std::string pairs = caller_pairs;
    if (!view.info.labels.empty()) {
      if (!pairs.empty()) pairs += ',';
      AppendLabelName(pairs, view.info.label);
      pairs += '=';
      AppendLabelValue(pairs, view.info.labels[i]);
    }
    out += family_name;
    if (!pairs.empty()) out += '{' + pairs + '}';
    out += ' ';
    AppendDecimal(out, view.values[i]);
    out += '\n';
  }
}

template <class Stats>
std::string PageOf(const Stats& stats, const StatsLabels& labels) {
  PrometheusPage page;
  page.Add(stats, labels);
  return page.ToString();
}

}  // namespace

template <class Stats>
void PrometheusPage::AddTo(std::vector<Family>& families, const Stats& stats, const StatsLabels& labels) {
  const std::vector<MetricView> views = stats_internal::ViewsOf(stats);
  const std::string caller_pairs = LabelPairs(labels);
  families.resize(views.size());
  for (size_t i = 0; i < views.size(); ++i) {
    const std::string name = FamilyName(stats_internal::kGroupOf<Stats>, views[i].info);
    if (families[i].head.empty()) families[i].head = FamilyHead(name, views[i].info);
    AppendSamples(families[i].samples, name, caller_pairs, views[i]);
  }
}

void PrometheusPage::Add(const PoolStats& stats, const StatsLabels& labels) { AddTo(pool_families_, stats, labels); }
void PrometheusPage::Add(const TableStats& stats, const StatsLabels& labels) { AddTo(table_families_, stats, labels); }
void PrometheusPage::Add(const RocksDBStats& stats, const StatsLabels& labels) {
  AddTo(rocksdb_families_, stats, labels);
}

std::string PrometheusPage::ToString() const {
  std::string page;
  for (const std::vector<Family>* families : {&pool_families_, &table_families_, &rocksdb_families_}) {
    for (const Family& family : *families) {
      page += family.head;
      page += family.samples;
    }
  }
  return page;
}

std::string ToPrometheus(const PoolStats& stats, const StatsLabels& labels) { return PageOf(stats, labels); }
std::string ToPrometheus(const TableStats& stats, const StatsLabels& labels) { return PageOf(stats, labels); }
std::string ToPrometheus(const RocksDBStats& stats, const StatsLabels& labels) { return PageOf(stats, labels); }

}  // namespace strongbin
