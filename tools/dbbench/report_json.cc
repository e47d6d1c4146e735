#include <cmath>
#include <string>

#include "strongbin/stats/escape.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/report.h"

namespace strongbin::dbbench {
namespace {

std::string Quoted(std::string_view text) {
  std::string quoted;
  stats_internal::AppendJsonString(quoted, text);
  return quoted;
}

// JSON has neither infinities nor what is no number.
std::string NumberText(double number) { return std::isfinite(number) ? Plain(number) : "null"; }

std::string ValueText(const CellValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return Quoted(*text);
  if (const auto* count = std::get_if<uint64_t>(&value)) return std::to_string(*count);
  if (const auto* number = std::get_if<double>(&value)) return NumberText(*number);
  return "null";
}

std::string FactsText(const Facts& facts) {
  std::string text = "{";
  for (const auto& [name, value] : facts) {
    text.append(text.size() > 1 ? ",\n    " : "\n    ").append(Quoted(name)).append(": ").append(Quoted(value));
  }
  return text + "\n  }";
}

template <class T, class F>
std::string List(const std::vector<T>& points, F&& text_of) {
  std::string text = "[";
  for (const T& point : points) text.append(text.size() > 1 ? ",[" : "[").append(text_of(point)).append("]");
  return text + "]";
}

std::string RowText(const Row& row) {
  std::string text = "{";
  for (const Column& column : Columns()) {
    text.append(text.size() > 1 ? ", " : "")
        .append(Quoted(column.id))
        .append(": ")
        .append(ValueText(column.value(row)));
  }
  if (!row.service_curve.empty()) {
    text += ", \"service_curve\": " + List(row.service_curve, [](const CurvePoint& point) {
              return NumberText(point.share) + "," + std::to_string(point.ns);
            });
  }
  if (!row.timeline.empty()) {
    text += ", \"timeline\": " + List(row.timeline, [](const TimePoint& point) {
              return NumberText(point.seconds) + "," + std::to_string(point.operations) + "," +
                     std::to_string(point.resident_bytes) + "," + std::to_string(point.idle_bytes) + "," +
                     std::to_string(point.lent_bytes);
            });
  }
  return text + "}";
}

}  // namespace

std::string ToJson(const Report& report) {
  std::string text = "{\n  \"tool\": \"dbbench\",\n  \"format_version\": 1";
  text += ",\n  \"environment\": " + FactsText(report.environment);
  text += ",\n  \"settings\": " + FactsText(report.settings);
  text += ",\n  \"parameters\": " + FactsText(report.parameters);
  text += ",\n  \"engines\": " + FactsText(report.engines);
  text += std::string(",\n  \"interrupted\": ") + (report.interrupted ? "true" : "false");
  text += std::string(",\n  \"agreed\": ") + (report.agreed ? "true" : "false");
  text += ",\n  \"rows\": [";
  for (size_t i = 0; i < report.rows.size(); ++i) text += (i > 0 ? ",\n    " : "\n    ") + RowText(report.rows[i]);
  text += "\n  ],\n  \"notes\": [";
  for (size_t i = 0; i < report.notes.size(); ++i) text += (i > 0 ? ",\n    " : "\n    ") + Quoted(report.notes[i]);
  text += "\n  ],\n  \"pools\": {";
  for (size_t i = 0; i < report.pools.size(); ++i) {
    text += (i > 0 ? ",\n    " : "\n    ") + Quoted(report.pools[i].engine) + ": " + report.pools[i].json;
  }
  return text + "\n  }\n}\n";
}

}  // namespace strongbin::dbbench
