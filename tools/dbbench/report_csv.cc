#include <string>

#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/report.h"

namespace strongbin::dbbench {
namespace {

// Quoted where a comma, a quote or a line break would be misread (RFC 4180).
std::string Field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted.append(1, '"');
}

std::string ValueText(const CellValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return Field(*text);
  if (const auto* count = std::get_if<uint64_t>(&value)) return std::to_string(*count);
  if (const auto* number = std::get_if<double>(&value)) return Plain(*number);
  return {};
}

}  // namespace

// Rows alone: what holds for all of them is in the other formats.
std::string ToCsv(const Report& report) {
  std::string text;
  for (const Column& column : Columns()) text.append(text.empty() ? "" : ",").append(Field(column.id));
  text += "\n";
  for (const Row& row : report.rows) {
    std::string line;
    for (const Column& column : Columns())
      line.append(&column == Columns().data() ? "" : ",").append(ValueText(column.value(row)));
    text.append(line).append("\n");
  }
  return text;
}

}  // namespace strongbin::dbbench
