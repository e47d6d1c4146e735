#include "strongbin/tools/dbbench/report.h"

#include "strongbin/stats/snapshot.h"
#include "strongbin/tools/dbbench/format.h"

namespace strongbin::dbbench {
namespace {

template <class T>
CellValue Maybe(const std::optional<T>& value) {
  return value ? CellValue(*value) : CellValue();
}

template <auto Member>
CellValue Get(const Row& row) {
  return row.*Member;
}
template <auto Member>
CellValue Measured(const Row& row) {
  return row.measured ? CellValue(row.*Member) : CellValue();
}
template <auto Member>
CellValue Optional(const Row& row) {
  return Maybe(row.*Member);
}
template <auto Latency, auto Member>
CellValue Percentile(const Row& row) {
  return row.*Latency ? CellValue((*(row.*Latency)).*Member) : CellValue();
}
template <auto Member>
CellValue Pool(const Row& row) {
  return row.pool ? CellValue((*row.pool).*Member) : CellValue();
}
template <auto Member, size_t Kind>
CellValue OfKind(const Row& row) {
  return row.pool ? CellValue(((*row.pool).*Member)[Kind]) : CellValue();
}
template <auto Member>
CellValue OfAllKinds(const Row& row) {
  if (!row.pool) return {};
  return SumOfLabels((*row.pool).*Member);
}
CellValue Checksum(const Row& row) { return row.checksum ? CellValue(Hex(*row.checksum)) : CellValue(); }
CellValue Finished(const Row& row) { return std::string(row.finished ? "yes" : "no"); }

template <auto Latency>
void AddLatency(std::vector<Column>& columns, const std::string& name, TableKind table) {
  using enum CellStyle;
  const auto add = [&](const char* id, const char* header, CellStyle style, CellValue (*value)(const Row&)) {
    columns.push_back(
        {name + "_" + id, table == TableKind::kLatency ? name + " " + header : header, table, style, value});
  };
  add("count", "count", kCount, &Percentile<Latency, &LatencySummary::count>);
  add("p50_ns", "p50", kDuration, &Percentile<Latency, &LatencySummary::p50_ns>);
  add("p90_ns", "p90", kDuration, &Percentile<Latency, &LatencySummary::p90_ns>);
  add("p99_ns", "p99", kDuration, &Percentile<Latency, &LatencySummary::p99_ns>);
  add("p99_9_ns", "p99.9", kDuration, &Percentile<Latency, &LatencySummary::p999_ns>);
  add("p99_99_ns", "p99.99", kDuration, &Percentile<Latency, &LatencySummary::p9999_ns>);
  add("max_ns", "max", kDuration, &Percentile<Latency, &LatencySummary::max_ns>);
}

// Generates one column per chunk kind, and one for all of them.
template <auto Member, size_t... Kinds>
void AddKinds(std::vector<Column>& columns, const std::string& id, const std::string& header, CellStyle style,
              std::index_sequence<Kinds...>) {
  (columns.push_back({id + "_" + std::string(kChunkKindLabels[Kinds]),
                      header + " for " + std::string(kChunkKindLabels[Kinds]), TableKind::kPool, style,
                      &OfKind<Member, Kinds>}),
   ...);
  columns.push_back({id, header + " in all", TableKind::kPool, style, &OfAllKinds<Member>});
}

std::vector<Column> MakeColumns() {
  using enum CellStyle;
  using enum TableKind;
  std::vector<Column> columns = {
      {"engine", "engine", kEvery, kText, &Get<&Row::engine>},
      {"test", "test", kEvery, kText, &Get<&Row::test>},
      {"round", "round", kEvery, kText, &Get<&Row::round>},
      {"timing", "timed", kEvery, kText, &Get<&Row::timing>},
      {"loop", "loop", kContent, kText, &Get<&Row::loop>},
      {"finished", "finished", kContent, kText, &Finished},
      {"planned_operations", "planned", kContent, kCount, &Get<&Row::planned_operations>},
      {"operations", "operations", kThroughput, kCount, &Measured<&Row::operations>},
      {"bytes", "bytes", kThroughput, kBytes, &Measured<&Row::bytes>},
      {"wall_seconds", "wall", kThroughput, kSeconds, &Measured<&Row::wall_seconds>},
      {"ops_per_second", "op/s", kThroughput, kNumber, &Measured<&Row::ops_per_second>},
      {"us_per_op", "us/op", kThroughput, kNumber, &Measured<&Row::us_per_op>},
      {"cpu_us_per_op", "CPU us/op", kThroughput, kNumber, &Measured<&Row::cpu_us_per_op>},
      {"drain_seconds", "drain", kThroughput, kSeconds, &Optional<&Row::drain_seconds>},
      {"total_ops_per_second", "op/s with drain", kThroughput, kNumber, &Optional<&Row::total_ops_per_second>},
      {"distinct_keys", "distinct keys", kContent, kCount, &Measured<&Row::distinct_keys>},
      {"drained_keys", "drained keys", kContent, kCount, &Optional<&Row::drained_keys>},
      {"found", "found", kContent, kCount, &Optional<&Row::found>},
      {"asked", "asked", kContent, kCount, &Optional<&Row::asked>},
      {"checksum", "checksum", kContent, kText, &Checksum},
      {"note", "note", kContent, kText, &Get<&Row::note>},
  };
  AddLatency<&Row::service>(columns, "service", kLatency);
  AddLatency<&Row::intended>(columns, "intended", kLatency);
  columns.insert(
      columns.end(),
      {
          {"allocations_per_op", "mallocs/op", kMemory, kNumber, &Optional<&Row::allocations_per_op>},
          {"allocated_bytes_per_op", "malloc B/op", kMemory, kNumber, &Optional<&Row::allocated_bytes_per_op>},
          {"table_bytes_per_entry", "table B/entry", kMemory, kNumber, &Optional<&Row::table_bytes_per_entry>},
          {"tables", "tables", kMemory, kCount, &Optional<&Row::tables>},
          {"minor_faults", "faults", kMemory, kCount, &Measured<&Row::minor_faults>},
          {"drain_faults", "drain faults", kMemory, kCount, &Optional<&Row::drain_faults>},
          {"resident_before_bytes", "RSS before", kMemory, kBytes, &Measured<&Row::resident_before_bytes>},
          {"resident_after_bytes", "RSS after", kMemory, kBytes, &Measured<&Row::resident_after_bytes>},
      });
  constexpr auto kKinds = std::make_index_sequence<kChunkKindCount>();
  AddKinds<&PoolNumbers::fresh_chunks>(columns, "fresh_chunks", "fresh", kCount, kKinds);
  AddKinds<&PoolNumbers::fresh_chunk_bytes>(columns, "fresh_chunk_bytes", "fresh bytes", kBytes, kKinds);
  columns.insert(
      columns.end(),
      {
          {"pool_gets", "pool gets", kPool, kCount, &Pool<&PoolNumbers::gets>},
          {"pool_hits", "pool hits", kPool, kCount, &Pool<&PoolNumbers::hits>},
          {"mapped_bytes", "newly mapped", kPool, kBytes, &Pool<&PoolNumbers::mapped_bytes>},
          {"admission_drop_bytes", "dropped at the cap", kPool, kBytes, &Pool<&PoolNumbers::admission_drop_bytes>},
          {"pool_cap_bytes", "cap", kPool, kBytes, &Pool<&PoolNumbers::cap_bytes>},
          {"pool_idle_bytes_max", "most idle", kPool, kBytes, &Pool<&PoolNumbers::idle_bytes_max>},
          {"pool_lent_bytes_max", "most lent", kPool, kBytes, &Pool<&PoolNumbers::lent_bytes_max>},
      });
  return columns;
}

}  // namespace

LatencySummary Summarize(const LatencyHistogram& histogram) {
  return {histogram.count(),         histogram.Quantile(0.5),    histogram.Quantile(0.9), histogram.Quantile(0.99),
          histogram.Quantile(0.999), histogram.Quantile(0.9999), histogram.max_ns()};
}

std::vector<CurvePoint> CurveOf(const LatencyHistogram& histogram) {
  constexpr double kStep = 1.04;  // of the duration, and of the share that lasts longer
  std::vector<CurvePoint> curve;
  histogram.ForEach([&curve](double share, uint64_t ns) {
    const bool far = curve.empty() || static_cast<double>(ns) > kStep * static_cast<double>(curve.back().ns) ||
                     kStep * (1 - share) < 1 - curve.back().share;
    if (far || share == 1) curve.push_back({share, ns});
  });
  return curve;
}

std::span<const Column> Columns() {
  static const std::vector<Column> columns = MakeColumns();
  return columns;
}

std::string ForPeople(const CellValue& value, CellStyle style) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* count = std::get_if<uint64_t>(&value)) {
    if (style == CellStyle::kBytes) return Bytes(*count);
    return style == CellStyle::kDuration ? Duration(*count) : Grouped(*count);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return style == CellStyle::kSeconds ? Duration(static_cast<uint64_t>(*number * 1e9)) : Significant(*number);
  }
  return "-";
}

std::string Render(const Report& report, OutputFormat format) {
  switch (format) {
    case OutputFormat::kJson:
      return ToJson(report);
    case OutputFormat::kCsv:
      return ToCsv(report);
    case OutputFormat::kMarkdown:
      break;
  }
  return ToMarkdown(report);
}

}  // namespace strongbin::dbbench
