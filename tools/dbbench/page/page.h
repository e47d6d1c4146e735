// `dbbench report`: results as a page for people.
#pragma once

#include <string>
#include <vector>

namespace strongbin::dbbench {

struct PageConfig {
  std::string html_path;      // empty: no page
  std::string markdown_path;  // empty: standard output where no page is asked for either, else none
  std::string figure_folder;  // for the pictures of the Markdown; empty: without pictures
};

// Reads the page's own flags. Empty, or what is wrong. ParseFlags must have run.
std::string ReadPageFlags(PageConfig* page);
std::string PageFlagList();

// Reads the results and writes the page. The exit status: 0, or 1 with the reason on standard error.
int WritePage(const PageConfig& page, const std::vector<std::string>& result_paths);

}  // namespace strongbin::dbbench
