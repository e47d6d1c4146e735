#include <algorithm>
#include <array>
#include <cstdlib>

#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/page/builder.h"
#include "strongbin/tools/dbbench/page/chart.h"
#include "strongbin/tools/dbbench/page/sections.h"

namespace strongbin::dbbench {

Section Builder::Latency() const {
  const Filter has_curve = [](const ResultRow& row) { return !IsCursor(row) && row.row.contains("service_curve"); };
  Section section;
  section.title = "Latency";
  section.text =
      "Service time of one operation where single ones were timed, else of one batch: how long all but the "
      "slowest lasted. The last point is the longest.";
  section.legend = Legend(has_curve);
  Table table;
  table.headers = {"test and engine", "timed", "p50", "p99", "p99.9", "p99.99", "max"};
  for (const std::string& test : results_.TestNames()) {
    Rows rows = Select([&](const ResultRow& row) { return has_curve(row) && row.test == test; });
    if (rows.empty()) continue;
    // Where single operations were timed, batches are left out.
    if (std::any_of(rows.begin(), rows.end(), [](const ResultRow* row) { return IsSingle(*row); })) {
      std::erase_if(rows, [](const ResultRow* row) { return !IsSingle(*row); });
    }
    const auto size = UsualSize(rows);
    LineChart chart;
    chart.x_label = "percentile";
    chart.y_log = chart.y_is_duration = chart.x_is_share_of_slowest = true;
    chart.dots = false;
    for (const std::string& series : series_) {
      const ResultRow* chosen = nullptr;
      for (const ResultRow* row : rows) {
        if (row->series != series || SizeOf(*row) != size) continue;
        chosen = row;  // the last round
      }
      if (chosen == nullptr) continue;
      Series line;
      line.color = ColorOfSeries(series);
      const double count = std::max(ValueOf(*chosen, "service_count"), 1.0);
      for (const auto& point : chosen->row["service_curve"]) {
        const double rest = std::max(1 - point.at(0).get<double>(), 0.5 / count);
        line.points.emplace_back(1 / rest, point.at(1).get<double>());
      }
      chart.series.push_back(std::move(line));
      std::vector<std::string> cells = {test + ", " + series, chosen->row.value("timing", "")};
      for (const char* column :
           {"service_p50_ns", "service_p99_ns", "service_p99_9_ns", "service_p99_99_ns", "service_max_ns"}) {
        cells.push_back(Duration(CountOf(*chosen, column)));
      }
      table.rows.push_back(std::move(cells));
    }
    section.figures.push_back({"latency-" + FigureName(test), test + ", " + SizeText(size), Draw(chart)});
  }
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
  return section;
}

namespace {

bool HasTimeline(const ResultRow& row) { return row.row.contains("timeline") && !IsSingle(row); }

// Calls visit(seconds since the first round began, the point, whether it begins a round) for the rows of one size.
template <class Visit>
void ForEachPoint(const Rows& rows, const Size& size, Visit&& visit) {
  double begin = 0;
  for (const ResultRow* row : rows) {
    if (SizeOf(*row) != size) continue;
    double last = 0;
    for (const auto& point : row->row["timeline"]) {
      visit(begin + point.at(0).get<double>(), point, last == 0);
      last = point.at(0).get<double>();
    }
    begin += last;
  }
}

}  // namespace

Section Builder::RateOverTime() const {
  Section section;
  section.title = "Throughput over time";
  section.text =
      "Operations per second between two samples while a test ran, all rounds behind each other: where writers wait "
      "for a full memtable, the line falls.";
  section.legend = Legend(HasTimeline);
  for (const std::string& test : results_.TestNames()) {
    const Rows rows = Select([&](const ResultRow& row) { return HasTimeline(row) && row.test == test; });
    if (rows.empty()) continue;
    const Size size = UsualSize(rows);
    LineChart chart;
    chart.x_label = "seconds";
    chart.y_label = "op/s";
    chart.dots = false;
    for (const std::string& series : series_) {
      Rows own = rows;
      std::erase_if(own, [&](const ResultRow* row) { return row->series != series; });
      Series line;
      line.color = ColorOfSeries(series);
      double before_seconds = 0, before_operations = 0;
      ForEachPoint(own, size, [&](double seconds, const nlohmann::json& point, bool first) {
        const double operations = point.at(1).get<double>();
        if (!first && seconds > before_seconds) {
          line.points.emplace_back(seconds, (operations - before_operations) / (seconds - before_seconds));
        }
        before_seconds = seconds;
        before_operations = operations;
      });
      if (!line.points.empty()) chart.series.push_back(std::move(line));
    }
    section.figures.push_back({"rate-" + FigureName(test), test + ", " + SizeText(size), Draw(chart)});
  }
  return section;
}

Section Builder::MemoryOverTime() const {
  Section section;
  section.title = "Memory over time";
  section.text =
      "Resident size of the process, and bytes lent and idle in the chunk pool, while a test ran (all rounds "
      "behind each other). Each picture is one engine in one test.";
  section.legend = {
      {"resident", std::string(ColorOf(0))}, {"lent", std::string(ColorOf(1))}, {"idle", std::string(ColorOf(2))}};
  for (const std::string& test : results_.TestNames()) {
    for (const std::string& series : series_) {
      const Rows rows =
          Select([&](const ResultRow& row) { return HasTimeline(row) && row.test == test && row.series == series; });
      if (rows.empty()) continue;
      const Size size = UsualSize(rows);
      LineChart chart;
      chart.x_label = "seconds";
      chart.y_label = "bytes";
      chart.dots = false;
      std::array<Series, 3> lines;
      ForEachPoint(rows, size, [&lines](double seconds, const nlohmann::json& point, bool) {
        for (size_t i = 0; i < lines.size(); ++i) lines[i].points.emplace_back(seconds, point.at(2 + i).get<double>());
      });
      for (size_t i = 0; i < lines.size(); ++i) {
        const bool any =
            std::any_of(lines[i].points.begin(), lines[i].points.end(), [](const auto& p) { return p.second > 0; });
        lines[i].color = ColorOf(i);
        if (any) chart.series.push_back(std::move(lines[i]));
      }
      section.figures.push_back(
          {"memory-" + FigureName(test + " " + series), test + ", " + series + ", " + SizeText(size), Draw(chart)});
    }
  }
  return section;
}

Section Builder::Cursor() const {
  Section section;
  section.title = "The arena's cursor";
  section.text =
      "Nanoseconds per allocation of 16 bytes behind filled buffers, nothing copied; beside the cursor the walk "
      "from the first buffer that it replaces.";
  section.legend = Legend(IsCursor);
  LineChart chart;
  chart.x_label = "buffers";
  chart.y_label = "ns per allocation";
  chart.x_log = chart.y_log = true;
  Table table;
  table.headers = {"workload and arena", "ns per allocation"};
  for (const std::string& series : series_) {
    Series line;
    line.color = ColorOfSeries(series);
    for (const ResultRow* row : Select(IsCursor)) {
      if (row->series != series) continue;
      const double ns = 1e3 * ValueOf(*row, "us_per_op");
      table.rows.push_back({row->test + ", " + series, Significant(ns)});
      const uint64_t behind =
          std::strtoull(row->test.c_str() + kCursorTest.size() + std::string_view("behind_").size(), nullptr, 10);
      if (row->test.find("behind") != std::string::npos) line.points.emplace_back(static_cast<double>(behind), ns);
    }
    if (!line.points.empty()) chart.series.push_back(std::move(line));
  }
  if (!table.rows.empty()) {
    section.figures.push_back({"cursor", "behind filled buffers", Draw(chart)});
    section.tables.push_back(std::move(table));
  }
  return section;
}

}  // namespace strongbin::dbbench
