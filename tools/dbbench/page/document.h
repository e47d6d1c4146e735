// A report as a document: what the HTML page and the Markdown text are written from.
#pragma once

#include <string>
#include <vector>

namespace strongbin::dbbench {

struct Table {
  std::vector<std::string> headers;
  std::vector<std::vector<std::string>> rows;  // the first column is text, the others are numbers
};

struct Figure {
  std::string name;  // of its file; letters, digits and dashes
  std::string caption;
  std::string svg;
};

struct LegendEntry {
  std::string name;
  std::string color;
};

struct Section {
  std::string title;
  std::string text;  // one paragraph
  std::vector<LegendEntry> legend;
  std::vector<Figure> figures;
  std::vector<Table> tables;
  std::vector<std::string> lines;  // one command or fact each
};

struct Document {
  std::string title;
  std::vector<Section> sections;
};

// One file that needs no other: pictures and style are inside. For any width from 390 pixels on, light and dark.
std::string ToHtml(const Document& document);
// Pictures are named as files in `figure_folder`, or left out where that is empty.
std::string ToMarkdown(const Document& document, const std::string& figure_folder);

}  // namespace strongbin::dbbench
