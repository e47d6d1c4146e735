#include "strongbin/tools/strongbin_stat/formats.h"

#include "strongbin/stats/escape.h"
#include "strongbin/stats/export.h"
#include "strongbin/stats/metric_view.h"
#include "strongbin/stats/snapshot.h"

namespace strongbin::stat_tool {

namespace {

StatsLabels LabelsOf(const PageSnapshot& snapshot) {
  return {{"pid", std::to_string(snapshot.pid)}, {"program", snapshot.program}};
}
StatsLabels LabelsOf(const PageSnapshot& snapshot, const PageSnapshot::Pool& pool) {
  StatsLabels labels = LabelsOf(snapshot);
  labels.emplace_back("pool", pool.name);
  return labels;
}

template <class Stats>
void AppendHead(std::string& out, const Stats& stats) {
  for (const auto& view : stats_internal::ViewsOf(stats)) {
    out += ',';
    out += stats_internal::kGroupOf<Stats>;
    out += '_';
    out += view.info.name;
  }
}
template <class Stats>
void AppendRow(std::string& out, const Stats& stats) {
  for (const auto& view : stats_internal::ViewsOf(stats)) {
    out += ',';
    stats_internal::AppendDecimal(out, SumOrLargest(view.info, view.values));
  }
}

}  // namespace

std::string AsText(const PageSnapshot& snapshot) {
  std::string text = snapshot.program + ", process " + std::to_string(snapshot.pid) + "\n";
  for (const PageSnapshot::Pool& pool : snapshot.pools) text += '\n' + ToText(pool.stats, {{"pool", pool.name}});
  if (snapshot.pools_left_out > 0) {
    text += "\nand " + std::to_string(snapshot.pools_left_out) + " more pools that the page has no room for\n";
  }
  text += '\n' + ToText(snapshot.tables, {{"tables", "all"}});
  if (snapshot.rocksdb.made_memtables + snapshot.rocksdb.fallback_memtables > 0)
    text += '\n' + ToText(snapshot.rocksdb);
  return text;
}

std::string AsJson(const PageSnapshot& snapshot) {
  std::string json = "{\n\"pid\": " + std::to_string(snapshot.pid) + ",\n\"program\": ";
  stats_internal::AppendJsonString(json, snapshot.program);
  json += ",\n\"opened_unix_ns\": " + std::to_string(snapshot.opened_unix_ns);
  json += ",\n\"pools_left_out\": " + std::to_string(snapshot.pools_left_out) + ",\n\"pools\": [\n";
  for (size_t i = 0; i < snapshot.pools.size(); ++i) {
    if (i > 0) json += ",\n";
    json += ToJson(snapshot.pools[i].stats, LabelsOf(snapshot, snapshot.pools[i]));
  }
  json += "],\n\"tables\": " + ToJson(snapshot.tables, LabelsOf(snapshot));
  json += ",\n\"rocksdb\": " + ToJson(snapshot.rocksdb, LabelsOf(snapshot)) + "}\n";
  return json;
}

std::string AsPrometheus(const PageSnapshot& snapshot) {
  PrometheusPage page;
  for (const PageSnapshot::Pool& pool : snapshot.pools) page.Add(pool.stats, LabelsOf(snapshot, pool));
  page.Add(snapshot.tables, LabelsOf(snapshot));
  page.Add(snapshot.rocksdb, LabelsOf(snapshot));
  return page.ToString();
}

std::string CsvHead() {
  std::string head = "unix_seconds,pid";
  AppendHead(head, PoolStats());
  AppendHead(head, TableStats());
  AppendHead(head, RocksDBStats());
  return head + '\n';
}

std::string CsvRow(const PageSnapshot& snapshot, uint64_t unix_ms) {
  // Made of whole numbers: the decimal point must not be the locale's.
  std::string row = std::to_string(unix_ms / 1000) + '.' + std::to_string(1000 + unix_ms % 1000).substr(1) + ',' +
                    std::to_string(snapshot.pid);
  AppendRow(row, SumOfPools(snapshot));
  AppendRow(row, snapshot.tables);
  AppendRow(row, snapshot.rocksdb);
  return row + '\n';
}

}  // namespace strongbin::stat_tool
