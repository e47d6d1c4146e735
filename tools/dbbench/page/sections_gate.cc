#include <algorithm>
#include <cmath>

#include "strongbin/tools/dbbench/gate/metrics.h"
#include "strongbin/tools/dbbench/page/chart.h"
#include "strongbin/tools/dbbench/page/sections.h"

namespace strongbin::dbbench {
namespace {

Figure RatioFigure(const GateResult& gate, const Metric& metric, size_t number) {
  BarChart chart;
  chart.unit = "candidate / baseline";
  chart.mark = 1;
  for (const Comparison& found : gate.comparisons) {
    if (found.metric != metric.name || !std::isfinite(found.ratio)) continue;
    const bool mean = found.test == kMeanOfTests;
    chart.bars.push_back({CellsOf(found).test, std::string(ColorOf(mean ? 7 : 0)), found.ratio,
                          found.ratio_interval.low, found.ratio_interval.high});
  }
  return {"gate-" + std::to_string(number) + "-" + FigureName(metric.name),
          std::string(metric.name) + ": " + std::string(metric.help), Draw(chart)};
}

Section GateSection(const GateResult& gate, size_t number) {
  Section section;
  const std::string baseline = gate.header.value("baseline", "");
  const std::string candidate = gate.header.value("candidate", "");
  const std::string label = gate.header.value("label", "");
  section.title = "Gate" + (label.empty() ? "" : " " + label) + ": " + candidate + " against " + baseline;
  section.text = "Ratios of the candidate (" + candidate + ") to the baseline (" + baseline + "), medians of " +
                 std::to_string(gate.pairs) +
                 " pairs of runs in fresh processes, in turns, with 95 % bootstrap intervals. The dashed line is "
                 "equality. RocksDB's assertions: " +
                 gate.environment.value("assertions, RocksDB", "unknown") + ".";
  if (gate.disturbed_pairs > 0) {
    section.text += " " + std::to_string(gate.disturbed_pairs) + " of the pairs were disturbed by other load.";
  }
  Table table;
  table.headers = {"test and metric", "baseline", "candidate", "ratio (95 % interval)", "Mann-Whitney p"};
  for (const Metric& metric : AllMetrics()) {
    Figure figure = RatioFigure(gate, metric, number);
    if (!figure.svg.empty()) section.figures.push_back(std::move(figure));
  }
  for (const Comparison& found : gate.comparisons) {
    const ComparisonCells cells = CellsOf(found);
    table.rows.push_back({cells.test + ", " + found.metric, cells.baseline, cells.candidate, cells.ratio, cells.p});
  }
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace

void AddGateSections(const ResultSet& results, Document* document) {
  for (size_t i = 0; i < results.gates.size(); ++i) document->sections.push_back(GateSection(results.gates[i], i + 1));
}

}  // namespace strongbin::dbbench
