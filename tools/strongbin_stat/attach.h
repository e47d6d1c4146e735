// Finds the page to look at.
#pragma once

#include <cstdint>
#include <string>

namespace strongbin::stat_tool {

// The page of a process, or for 0 of the only process that has one. False: `*why` says what to do.
bool FindPage(uint64_t pid, std::string* path, std::string* why);

// Whether the process that wrote the page has ended. A file whose name tells no process belongs to none that could end.
bool HasEnded(const std::string& path);

// A line for each process that has a page.
std::string ListOfPages();

}  // namespace strongbin::stat_tool
