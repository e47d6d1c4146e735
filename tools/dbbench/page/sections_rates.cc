#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/gate/statistics.h"
#include "strongbin/tools/dbbench/page/builder.h"
#include "strongbin/tools/dbbench/page/chart.h"
#include "strongbin/tools/dbbench/page/sections.h"

namespace strongbin::dbbench {

Section Builder::Throughput() const {
  Section section;
  section.title = "Throughput";
  section.text =
      "Operations per second, drains excluded: median over all rounds and files, the line over a bar from the "
      "slowest to the fastest.";
  section.legend = Legend(IsThroughput);
  Table table;
  table.headers = {"test and engine", "op/s", "slowest", "fastest", "us/op", "CPU us/op", "rounds"};
  for (const std::string& test : results_.TestNames()) {
    Rows rows = Select([&](const ResultRow& row) { return IsThroughput(row) && row.test == test; });
    if (rows.empty()) continue;
    const auto size = UsualSize(rows);
    std::erase_if(rows, [&](const ResultRow* row) { return SizeOf(*row) != size; });
    BarChart chart;
    chart.unit = "op/s";
    for (const std::string& series : series_) {
      const std::vector<double> rates = Values(rows, series, "ops_per_second");
      if (rates.empty()) continue;
      const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
      chart.bars.push_back({series, ColorOfSeries(series), Median(rates), *low, *high});
      table.rows.push_back({test + ", " + series, Significant(Median(rates)), Significant(*low), Significant(*high),
                            Significant(Median(Values(rows, series, "us_per_op"))),
                            Significant(Median(Values(rows, series, "cpu_us_per_op"))),
                            Grouped(uint64_t{rates.size()})});
    }
    section.figures.push_back({"throughput-" + FigureName(test), test + ", " + SizeText(size), Draw(chart)});
  }
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
  return section;
}

Section Builder::ColdAndWarm() const {
  Section section;
  section.title = "Cold and warm rounds";
  section.text =
      "Operations per second round by round: the first one fills memory that the system has yet to make, later "
      "ones what is kept from the rounds before.";
  Table table;
  table.headers = {"test, engine and round", "op/s", "page faults", "fresh chunks", "for keys"};
  for (const std::string& test : results_.TestNames()) {
    Rows rows = Select([&](const ResultRow& row) { return IsThroughput(row) && row.test == test; });
    if (rows.empty()) continue;
    const auto size = UsualSize(rows);
    LineChart chart;
    chart.x_label = "round";
    chart.y_label = "op/s";
    bool several = false;
    for (const std::string& series : series_) {
      std::map<uint64_t, std::pair<std::string, Rows>> rounds;
      for (const ResultRow* row : rows) {
        if (row->series != series || SizeOf(*row) != size) continue;
        auto& round = rounds[std::strtoull(row->round.c_str(), nullptr, 10)];
        round.first = row->round;
        round.second.push_back(row);
      }
      if (rounds.size() < 2) continue;
      several = true;
      Series line;
      line.color = ColorOfSeries(series);
      for (const auto& [number, round] : rounds) {
        const auto median = [&, &of_round = round.second](const char* column) {
          return Median(Values(of_round, series, column));
        };
        line.points.emplace_back(number, median("ops_per_second"));
        table.rows.push_back({test + ", " + series + ", " + round.first, Significant(median("ops_per_second")),
                              Significant(median("minor_faults")), Significant(median("fresh_chunks")),
                              Significant(median("fresh_chunks_key"))});
      }
      chart.series.push_back(std::move(line));
    }
    if (several) section.figures.push_back({"rounds-" + FigureName(test), test + ", " + SizeText(size), Draw(chart)});
  }
  if (!section.figures.empty()) section.legend = Legend(IsThroughput);
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
  return section;
}

Section Builder::Scaling(const std::string& title, const std::string& label, uint64_t ResultRow::*varied,
                         uint64_t ResultRow::*fixed) const {
  Section section;
  section.title = title;
  section.text = "Median of operations per second over all rounds and files.";
  Table table;
  table.headers = {"test and engine", label, "op/s"};
  for (const std::string& test : results_.TestNames()) {
    const Rows rows = Select([&](const ResultRow& row) { return IsThroughput(row) && row.test == test; });
    // The value of the other number with which this one takes most values.
    std::map<uint64_t, std::set<uint64_t>> values;
    for (const ResultRow* row : rows) values[row->*fixed].insert(row->*varied);
    const auto widest = std::max_element(
        values.begin(), values.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    if (widest == values.end() || widest->second.size() < 2) continue;
    LineChart chart;
    chart.x_label = label;
    chart.y_label = "op/s";
    chart.x_log = true;
    for (const std::string& series : series_) {
      std::map<uint64_t, std::vector<double>> rates;
      for (const ResultRow* row : rows) {
        if (row->series != series || row->*fixed != widest->first) continue;
        rates[row->*varied].push_back(ValueOf(*row, "ops_per_second"));
      }
      if (rates.size() < 2) continue;
      Series line;
      line.color = ColorOfSeries(series);
      for (const auto& [x, of_x] : rates) {
        line.points.emplace_back(static_cast<double>(x), Median(of_x));
        table.rows.push_back({test + ", " + series, Grouped(x), Significant(Median(of_x))});
      }
      chart.series.push_back(std::move(line));
    }
    if (!chart.series.empty()) {
      section.figures.push_back({FigureName(title) + "-" + FigureName(test), test, Draw(chart)});
    }
  }
  if (!section.figures.empty()) section.legend = Legend(IsThroughput);
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
  return section;
}

}  // namespace strongbin::dbbench
