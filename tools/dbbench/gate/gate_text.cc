#include "strongbin/tools/dbbench/gate/gate_text.h"

#include <algorithm>
#include <array>

#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/gate/metrics.h"

namespace strongbin::dbbench {
namespace {

constexpr size_t kColumns = 6;
using Line = std::array<std::string, kColumns>;

// What a side says of itself: engine, pool, huge pages, cap beside what the tables held.
std::string Describe(const nlohmann::json& record) {
  std::string text;
  if (!record.contains("report")) return text;
  const nlohmann::json& report = record["report"];
  const nlohmann::json engines = report.value("engines", nlohmann::json::object());
  for (const auto& [name, description] : engines.items()) {
    text += name + ": " + description.get<std::string>();
  }
  uint64_t cap_bytes = 0, lent_bytes = 0, idle_bytes = 0, dropped_bytes = 0;
  for (const nlohmann::json& row : report["rows"]) {
    if (!row.value("pool_cap_bytes", nlohmann::json()).is_number()) return text;
    cap_bytes = row.at("pool_cap_bytes");
    lent_bytes = std::max(lent_bytes, row.at("pool_lent_bytes_max").get<uint64_t>());
    idle_bytes = std::max(idle_bytes, row.at("pool_idle_bytes_max").get<uint64_t>());
    dropped_bytes += row.at("admission_drop_bytes").get<uint64_t>();
  }
  return text + "; cap " + Bytes(cap_bytes) + ", most lent " + Bytes(lent_bytes) + ", most idle " + Bytes(idle_bytes) +
         ", given up at the cap " + Bytes(dropped_bytes);
}

}  // namespace

std::string ComparisonTable(const std::vector<Comparison>& comparisons) {
  std::vector<Line> lines = {{"test", "metric", "baseline", "candidate", "ratio (95 % interval)", "p"}};
  for (const Comparison& found : comparisons) {
    const ComparisonCells cells = CellsOf(found);
    lines.push_back({cells.test, found.metric, cells.baseline, cells.candidate, cells.ratio, cells.p});
  }
  std::array<size_t, kColumns> widths{};
  for (const Line& line : lines) {
    for (size_t c = 0; c < kColumns; ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    for (size_t c = 0; c < kColumns; ++c) {
      text += "| " + lines[i][c] + std::string(widths[c] - lines[i][c].size() + 1, ' ');
    }
    text += "|\n";
    if (i > 0) continue;
    for (size_t c = 0; c < kColumns; ++c) text += "| " + std::string(widths[c], '-') + " ";
    text += "|\n";
  }
  return text;
}

std::string GateText(const GateConfig& gate, const GateFacts& facts, const std::vector<Comparison>& comparisons,
                     const std::string& verdicts) {
  std::string text = "# dbbench gate\n\n";
  text += "- baseline: " + gate.baseline.text + "\n- candidate: " + gate.candidate.text + "\n";
  std::string common;
  for (const std::string& flag : gate.common_flags) common += " " + flag;
  text += "- on both sides:" + (common.empty() ? std::string(" defaults") : common) + "\n";
  for (const char* side : {"baseline", "candidate"}) {
    if (facts.last_pair.contains(side))
      text += std::string("- ") + side + " ran " + Describe(facts.last_pair[side]) + "\n";
  }
  if (facts.last_pair.contains("candidate")) {
    const nlohmann::json& environment = facts.last_pair.at("candidate").at("report").at("environment");
    for (const auto& [name, value] : environment.items()) text += "- " + name + ": " + value.get<std::string>() + "\n";
  }
  text += "- pairs: " + std::to_string(facts.counted_pairs) + " counted";
  if (facts.resumed_pairs > 0) text += ", " + std::to_string(facts.resumed_pairs) + " of them from an earlier call";
  if (facts.disturbed_pairs > 0)
    text += ", " + std::to_string(facts.disturbed_pairs) + " of them DISTURBED by other load";
  if (facts.repeated_pairs > 0) text += "; " + std::to_string(facts.repeated_pairs) + " disturbed ones were repeated";
  if (facts.out_of_time) text += "; --max_minutes ended it";
  text += "\n- raw results: " + gate.results_path + "\n\n" + ComparisonTable(comparisons) + "\n";
  for (const Metric& metric : AllMetrics()) {
    const bool shown = std::any_of(comparisons.begin(), comparisons.end(),
                                   [&](const Comparison& found) { return found.metric == metric.name; });
    if (shown) text += "- " + std::string(metric.name) + ": " + std::string(metric.help) + "\n";
  }
  return text + (verdicts.empty() ? "" : "\n" + verdicts);
}

}  // namespace strongbin::dbbench
