#include "strongbin/tools/dbbench/page/page.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <gflags/gflags.h>

#include "strongbin/tools/command_line.h"
#include "strongbin/tools/dbbench/page/chart.h"
#include "strongbin/tools/dbbench/page/sections.h"

DEFINE_string(html, "", "file for the page: one HTML file with everything in it");
DEFINE_string(markdown, "", "file for the same as Markdown; without --html and --markdown it goes to standard output");
DEFINE_string(figures, "", "folder for the pictures that the Markdown shows; empty: Markdown without pictures");

namespace strongbin::dbbench {
namespace {

constexpr std::string_view kStandaloneStyle =
    "<style>svg{color:#1f2430}@media (prefers-color-scheme:dark){svg{color:#e4e7ec}}</style>";

int Complain(const std::string& reason) {
  std::fprintf(stderr, "dbbench report: %s\n", reason.c_str());
  return 1;
}

bool WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  return static_cast<bool>(file << text << std::flush);
}

// A picture in a file of its own follows the reader's colours by a style of its own.
std::string Standalone(std::string svg) {
  const size_t end = svg.find('>');
  if (end != std::string::npos) svg.insert(end + 1, kStandaloneStyle);
  return svg;
}

bool WriteFigures(const Document& document, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  bool written = !error;
  for (const Section& section : document.sections) {
    for (const Figure& figure : section.figures) {
      written = written && WriteFile(folder + "/" + figure.name + ".svg", Standalone(figure.svg));
    }
  }
  return written;
}

int WriteAll(const PageConfig& page, const std::vector<std::string>& result_paths) {
  ResultSet results;
  std::string error;
  if (result_paths.empty()) return Complain("needs files of results: reports in JSON, raw results of the gate");
  if (!ReadResults(result_paths, &results, &error)) return Complain(error);
  const Document document = MakeDocument(results);
  if (!page.html_path.empty() && !WriteFile(page.html_path, ToHtml(document))) {
    return Complain(page.html_path + ": cannot be written");
  }
  if (!page.figure_folder.empty() && !WriteFigures(document, page.figure_folder)) {
    return Complain(page.figure_folder + ": cannot be written");
  }
  std::string folder;
  if (!page.figure_folder.empty()) {
    // As seen from where the Markdown lies.
    const auto from = std::filesystem::absolute(page.markdown_path).parent_path();
    folder = std::filesystem::absolute(page.figure_folder).lexically_relative(from).string();
  }
  const std::string markdown = ToMarkdown(document, folder);
  if (!page.markdown_path.empty()) {
    return WriteFile(page.markdown_path, markdown) ? 0 : Complain(page.markdown_path + ": cannot be written");
  }
  if (page.html_path.empty()) std::fputs(markdown.c_str(), stdout);
  return 0;
}

}  // namespace

std::string ReadPageFlags(PageConfig* page) {
  page->html_path = FLAGS_html;
  page->markdown_path = FLAGS_markdown;
  page->figure_folder = FLAGS_figures;
  return page->html_path.empty() || GnuplotIsInstalled()
             ? ""
             : "report draws with gnuplot, which is not installed (Debian: gnuplot-nox)";
}

std::string PageFlagList() { return FlagList("page/page.cc"); }

int WritePage(const PageConfig& page, const std::vector<std::string>& result_paths) {
  try {
    return WriteAll(page, result_paths);
  } catch (const nlohmann::json::exception& wrong) {  // a value of another type than the tools write
    return Complain(std::string("results that these tools did not write: ") + wrong.what());
  }
}

}  // namespace strongbin::dbbench
