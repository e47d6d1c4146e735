#include "strongbin/tools/strongbin_stat/attach.h"

#include <unistd.h>
#include <vector>

#include "strongbin/stats/page_files.h"
#include "strongbin/stats/page_reader.h"

namespace strongbin::stat_tool {

namespace {

using stats_internal::OwnerState;
using stats_internal::PageFile;

constexpr const char* kHowToHaveOne =
    "start it with STRONGBIN_STATS_PAGE=1, give its RocksDB memtable the option stats_page=true, or let it call "
    "strongbin::OpenStatsPage()";

std::string LineFor(const PageFile& file) {
  PageSnapshot snapshot;
  std::string why;
  const bool is_readable = ReadStatsPage(file.path, &snapshot, &why);
  std::string line = std::to_string(file.owner.pid) + "  " + (is_readable ? snapshot.program : "?") + "  " + file.path;
  if (StateOf(file) == OwnerState::kElsewhere) line += "  (a process number of another namespace; use --file)";
  if (!is_readable) line += "  (" + why + ")";
  return line + '\n';
}

}  // namespace

bool FindPage(uint64_t pid, std::string* path, std::string* why) {
  std::vector<PageFile> candidates;
  for (PageFile& file : FindStatsPages()) {
    // Process numbers of other namespaces say nothing here.
    if (StateOf(file) == OwnerState::kRuns && (pid == 0 || file.owner.pid == pid)) candidates.push_back(file);
  }
  if (candidates.size() == 1) {
    *path = candidates[0].path;
    return true;
  }
  if (!candidates.empty()) {
    *why = "more than one process has a statistics page; name one of them:\n";
    for (const PageFile& file : candidates) *why += "  " + LineFor(file);
  } else if (pid == 0) {
    *why = "no process of user " + std::to_string(geteuid()) + " has a statistics page; " + kHowToHaveOne;
  } else if (!stats_internal::StartTicksOf(pid)) {
    *why = "there is no process " + std::to_string(pid) + "; --list shows those that have a statistics page";
  } else {
    *why = "process " + std::to_string(pid) + " has no statistics page that user " + std::to_string(geteuid()) +
           " may read; " + kHowToHaveOne;
  }
  return false;
}

bool HasEnded(const std::string& path) {
  const auto owner = stats_internal::OwnerFromFileName(path.substr(path.rfind('/') + 1));
  return owner && stats_internal::StateOf({path, *owner}) == OwnerState::kGone;
}

std::string ListOfPages() {
  std::string list;
  for (const PageFile& file : FindStatsPages()) list += LineFor(file);
  return list;
}

}  // namespace strongbin::stat_tool
