#include <string>
#include <string_view>

#include "strongbin/tools/dbbench/page/document.h"

namespace strongbin::dbbench {
namespace {

std::string Cells(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) {
    text += " ";
    for (const char c : cell) text += c == '|' ? std::string("\\|") : std::string(1, c);
    text += " |";
  }
  return text + "\n";
}

std::string Markdown(const Table& table) {
  std::string text = "\n" + Cells(table.headers) + "|";
  for (size_t c = 0; c < table.headers.size(); ++c) text += c == 0 ? " --- |" : " ---: |";
  text += "\n";
  for (const auto& row : table.rows) text += Cells(row);
  return text;
}

}  // namespace

std::string ToMarkdown(const Document& document, const std::string& figure_folder) {
  std::string text = "# " + document.title + "\n";
  for (const Section& section : document.sections) {
    text += "\n## " + section.title + "\n";
    if (!section.text.empty()) text += "\n" + section.text + "\n";
    for (const Figure& figure : section.figures) {
      if (!figure_folder.empty())
        text += "\n![" + figure.caption + "](" + figure_folder + "/" + figure.name + ".svg)\n";
    }
    for (const Table& table : section.tables) text += Markdown(table);
    if (section.lines.empty()) continue;
    text += "\n```\n";
    for (const std::string& line : section.lines) text += line + "\n";
    text += "```\n";
  }
  return text;
}

}  // namespace strongbin::dbbench
