// The statistics of this process where other programs of its user can look at them.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

#include "strongbin/stats/page_layout.h"

namespace strongbin {

// Opens the statistics page of this process, if it is not open yet: a file of some pages of shared memory in which the
// counters themselves live from then on. No thread publishes anything. True: it is open. False: `*why` (which may be
// null) says why not, and the numbers stay private; nothing else has changed.
//
// The page of a process that is asked for by STRONGBIN_STATS_PAGE=1 opens with the first pool. Programs that run with
// more rights than their caller (set-uid and the like) get none, however they ask.
//
// A pool comes with all it has counted, the next time that it is used; a table likewise with its entries. Tables that
// have ended before are not in the page.
//
// The file is removed at exit; that of a killed process by the next process that opens a page or lists them. It can be
// read by its user only and written by nobody else than this process. After fork() the child counts in private memory
// and neither writes to its parent's page nor removes it; it may open one of its own.
//
// Thread safety: any thread, at any time.
bool OpenStatsPage(std::string* why = nullptr);

// The file; empty when no page is open.
std::string StatsPagePath();

namespace stats_internal {

// What is asked of the surroundings; a test has its own.
struct PageSettings {
  bool is_secure = false;              // the process has more rights than its caller
  std::string runtime_directory = {};  // XDG_RUNTIME_DIR
};
PageSettings SettingsOfProcess();
bool OpenPage(const PageSettings& settings, std::string* why);

// Whether STRONGBIN_STATS_PAGE has this value; null where it is not set.
bool IsAskedBy(const char* value);
// Opens the page where the environment asks for it. A failure is told on the error stream, once.
void OpenPageIfAsked();

// Null while no page is open. The page stays mapped for the life of the process, so a pointer to it stays good.
// After fork() it is null in the child, and the old page is a private copy.
extern std::atomic<PageLayout*> current_page;
inline PageLayout* CurrentPage() {
  // Acquire: the page is seen as it was made.
  return current_page.load(std::memory_order_acquire);
}

// A slot for one pool, all zero; null, and counted, when all are taken. Any thread.
PoolSlot* TakePoolSlot(PageLayout* page, std::string_view name);
void LeavePoolSlot(PageLayout* page, PoolSlot* slot);

}  // namespace stats_internal

}  // namespace strongbin
