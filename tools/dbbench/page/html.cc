#include <string>
#include <string_view>

#include "strongbin/tools/dbbench/page/document.h"

namespace strongbin::dbbench {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --text: #1f2430; --soft: #5b6372; --line: #d9dde4; --paper: #ffffff; --card: #f6f7f9; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e7ec; --soft: #9aa3b2; --line: #353b47; --paper: #14171d; --card: #1c2028; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 80rem; color: var(--text); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0.5rem 0; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 0.4rem; padding-top: 0.8rem; border-top: 1px solid var(--line); }
p { margin: 0.4rem 0; color: var(--soft); max-width: 46rem; }
nav a { display: inline-block; margin: 0 1rem 0.3rem 0; }
a { color: inherit; }
.figures { display: grid; gap: 1rem; margin: 0.8rem 0; grid-template-columns: repeat(auto-fill, minmax(min(21rem, 100%), 1fr)); }
figure { margin: 0; padding: 0.6rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem; min-width: 0; }
figcaption { font-weight: 600; font-size: 0.9rem; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; color: var(--text); }
.legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; margin: 0.6rem 0; padding: 0; list-style: none; font-size: 0.9rem; }
.legend i { display: inline-block; width: 0.8rem; height: 0.8rem; margin-right: 0.4rem; border-radius: 0.2rem; vertical-align: -0.05rem; }
.table { overflow-x: auto; margin: 0.6rem 0; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
.lines { margin: 0.6rem 0; padding: 0.7rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem;
  font: 0.8rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
)";

std::string Escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string Cells(const std::vector<std::string>& cells, const char* tag) {
  std::string text = "<tr>";
  for (const std::string& cell : cells) text += std::string("<") + tag + ">" + Escaped(cell) + "</" + tag + ">";
  return text + "</tr>\n";
}

std::string Html(const Table& table) {
  std::string text = "<div class=\"table\"><table>\n<thead>" + Cells(table.headers, "th") + "</thead><tbody>\n";
  for (const auto& row : table.rows) text += Cells(row, "td");
  return text + "</tbody></table></div>\n";
}

std::string Html(const Section& section, size_t number) {
  std::string text = "<section id=\"s" + std::to_string(number) + "\">\n<h2>" + Escaped(section.title) + "</h2>\n";
  if (!section.text.empty()) text += "<p>" + Escaped(section.text) + "</p>\n";
  if (!section.legend.empty()) {
    text += "<ul class=\"legend\">";
    for (const LegendEntry& entry : section.legend) {
      text += "<li><i style=\"background:" + entry.color + "\"></i>" + Escaped(entry.name) + "</li>";
    }
    text += "</ul>\n";
  }
  if (!section.figures.empty()) {
    text += "<div class=\"figures\">\n";
    for (const Figure& figure : section.figures) {
      text += "<figure><figcaption>" + Escaped(figure.caption) + "</figcaption>" + figure.svg + "</figure>\n";
    }
    text += "</div>\n";
  }
  for (const Table& table : section.tables) text += Html(table);
  if (!section.lines.empty()) {
    text += "<div class=\"lines\">";
    for (const std::string& line : section.lines) text += Escaped(line) + "\n";
    text += "</div>\n";
  }
  return text + "</section>\n";
}

}  // namespace

std::string ToHtml(const Document& document) {
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      Escaped(document.title) + "</title>\n<style>" + std::string(kStyle) + "</style></head><body>\n<h1>" +
      Escaped(document.title) + "</h1>\n<nav>";
  for (size_t i = 0; i < document.sections.size(); ++i) {
    text += "<a href=\"#s" + std::to_string(i) + "\">" + Escaped(document.sections[i].title) + "</a>";
  }
  text += "</nav>\n";
  for (size_t i = 0; i < document.sections.size(); ++i) text += Html(document.sections[i], i);
  return text + "</body></html>\n";
}

}  // namespace strongbin::dbbench
