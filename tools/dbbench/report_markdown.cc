#include <algorithm>
#include <string>
#include <vector>

#include "strongbin/tools/dbbench/report.h"

namespace strongbin::dbbench {
namespace {

// The number of characters on screen, for UTF-8.
size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string Escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

bool IsEmpty(const Row& row, const Column& column) {
  const CellValue value = column.value(row);
  const auto* text = std::get_if<std::string>(&value);
  return std::holds_alternative<std::monostate>(value) || (text != nullptr && text->empty());
}

// Columns without any value are left out, and so are rows without a value of this table's own.
void AppendTable(const Report& report, TableKind kind, std::string_view title, std::string* text) {
  std::vector<const Row*> rows;
  std::vector<const Column*> columns;
  for (const Row& row : report.rows) {
    const bool own = std::any_of(Columns().begin(), Columns().end(),
                                 [&](const Column& column) { return column.table == kind && !IsEmpty(row, column); });
    if (own) rows.push_back(&row);
  }
  if (rows.empty()) return;
  for (const Column& column : Columns()) {
    if (column.table != kind && column.table != TableKind::kEvery) continue;
    if (!std::all_of(rows.begin(), rows.end(), [&](const Row* row) { return IsEmpty(*row, column); }))
      columns.push_back(&column);
  }
  std::vector<std::vector<std::string>> cells(columns.size());
  std::vector<size_t> widths(columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    cells[c].push_back(columns[c]->header);
    for (const Row* row : rows) cells[c].push_back(Escaped(ForPeople(columns[c]->value(*row), columns[c]->style)));
    for (const std::string& cell : cells[c]) widths[c] = std::max(widths[c], Width(cell));
  }
  text->append("\n## ").append(title).append("\n\n");
  for (size_t line = 0; line <= rows.size(); ++line) {
    for (size_t c = 0; c < columns.size(); ++c) {
      const std::string padding(widths[c] - Width(cells[c][line]), ' ');
      const bool left = columns[c]->style == CellStyle::kText;
      text->append(c == 0 ? "| " : " | ").append(left ? cells[c][line] + padding : padding + cells[c][line]);
    }
    text->append(" |\n");
    if (line > 0) continue;
    for (size_t c = 0; c < columns.size(); ++c) {
      const bool left = columns[c]->style == CellStyle::kText;
      text->append(c == 0 ? "| " : " | ").append(widths[c] - (left ? 0 : 1), '-').append(left ? "" : ":");
    }
    text->append(" |\n");
  }
}

void AppendFacts(const Facts& facts, std::string_view title, std::string* text) {
  if (facts.empty()) return;
  text->append("\n## ").append(title).append("\n\n");
  for (const auto& [name, value] : facts) text->append("- ").append(name).append(": ").append(value).append("\n");
}

}  // namespace

std::string ToMarkdown(const Report& report) {
  std::string text = "# dbbench\n";
  AppendFacts(report.environment, "Environment", &text);
  AppendFacts(report.settings, "Settings", &text);
  AppendFacts(report.engines, "Engines", &text);
  AppendTable(report, TableKind::kThroughput, "Throughput", &text);
  AppendTable(report, TableKind::kContent, "Work and content", &text);
  AppendTable(report, TableKind::kLatency, "Latency", &text);
  AppendTable(report, TableKind::kMemory, "Memory", &text);
  AppendTable(report, TableKind::kPool, "Pool", &text);
  if (!report.notes.empty()) {
    text += "\n## Notes\n\n";
    for (const std::string& note : report.notes) text += "- " + note + "\n";
  }
  for (const PoolReport& pool : report.pools) {
    text += "\n## Pool of " + pool.engine + " at the end\n\n```\n" + pool.text +
            (pool.text.ends_with('\n') ? "" : "\n") + "```\n";
  }
  return text;
}

}  // namespace strongbin::dbbench
