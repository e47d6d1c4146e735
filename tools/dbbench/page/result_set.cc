#include "strongbin/tools/dbbench/page/result_set.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "strongbin/tools/dbbench/gate/metrics.h"

namespace strongbin::dbbench {
namespace {

using nlohmann::json;

std::string Text(const json& object, const char* name) {
  const auto value = object.find(name);
  return value != object.end() && value->is_string() ? value->get<std::string>() : std::string();
}

// 0 where it is none.
uint64_t Number(const json& parameters, const char* name) {
  const std::string text = Text(parameters, name);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

std::string SeriesOf(const json& row, const json& parameters) {
  std::string name = Text(row, "engine");
  if (Text(parameters, "pool_cap_bytes") == "0" && row.value("fresh_chunks", json()).is_number()) name += ", pool off";
  return name;
}

bool AddReport(const std::string& path, const json& report, ResultSet* results) {
  if (!report.contains("rows") || !report["rows"].is_array() || !report.contains("parameters")) return false;
  const json& parameters = report["parameters"];
  for (const json& row : report["rows"]) {
    if (!row.is_object() || Text(row, "finished") != "yes" || !row.value("operations", json()).is_number()) continue;
    ResultRow result;
    result.series = SeriesOf(row, parameters);
    result.test = Text(row, "test");
    if (Text(parameters, "profile") == "durable") result.test += ", durable";
    result.round = Text(row, "round");
    result.keys = Number(parameters, "keys");
    result.threads = Number(parameters, "threads");
    result.row = row;
    results->rows.push_back(std::move(result));
  }
  results->runs.push_back({path, report.value("environment", json::object()), report.value("settings", json::object()),
                           report.value("engines", json::object())});
  return true;
}

bool AddGate(const std::string& path, const std::string& text, ResultSet* results, std::string* error) {
  GateResult gate;
  gate.file = path;
  std::vector<PairMetrics> pairs;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    json parsed = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (parsed.is_discarded()) break;  // a line that a crash cut off
    if (gate.header.is_null()) {
      gate.header = std::move(parsed);
      continue;
    }
    if (!parsed.value("counted", true)) continue;
    if (!MetricsOfPair(parsed, &pairs.emplace_back(), error)) return false;
    if (!Text(parsed, "disturbed").empty()) ++gate.disturbed_pairs;
    gate.environment = parsed["candidate"]["report"].value("environment", json::object());
  }
  if (!gate.header.is_object() || Text(gate.header, "tool") != "dbbench gate") return false;
  gate.pairs = pairs.size();
  gate.comparisons = Compare(pairs);
  results->gates.push_back(std::move(gate));
  return true;
}

template <class F>
std::vector<std::string> Distinct(const std::vector<ResultRow>& rows, F&& name_of) {
  std::vector<std::string> names;
  for (const ResultRow& row : rows) {
    if (std::find(names.begin(), names.end(), name_of(row)) == names.end()) names.push_back(name_of(row));
  }
  return names;
}

}  // namespace

std::vector<std::string> ResultSet::SeriesNames() const {
  return Distinct(rows, [](const ResultRow& row) { return row.series; });
}

std::vector<std::string> ResultSet::TestNames() const {
  return Distinct(rows, [](const ResultRow& row) { return row.test; });
}

bool ReadResults(const std::vector<std::string>& paths, ResultSet* results, std::string* error) {
  for (const std::string& path : paths) {
    std::ifstream file(path);
    if (!file) {
      *error = path + ": cannot be read";
      return false;
    }
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const json report = json::parse(text, nullptr, /*allow_exceptions=*/false);
    std::string reason = "is neither a report of dbbench in JSON nor raw results of its gate";
    const bool read = report.is_object() && Text(report, "tool") == "dbbench" ? AddReport(path, report, results)
                                                                              : AddGate(path, text, results, &reason);
    if (read) continue;
    *error = path + ": " + reason;
    return false;
  }
  return true;
}

}  // namespace strongbin::dbbench
