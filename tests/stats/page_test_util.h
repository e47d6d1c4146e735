// Statistics pages in processes of their own, since a process has one page for its life.
#pragma once

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/stats/page_reader.h"
#include "strongbin/stats/snapshot.h"
#include "strongbin/stats/stats_page.h"

namespace strongbin {

// Of the cells of one metric.
inline uint64_t Sum(const auto& cells) {
  uint64_t sum = 0;
  for (const uint64_t cell : cells) sum += cell;
  return sum;
}

// A directory in shared memory that is this user's alone, removed with all that is in it.
class PageDirectory {
 public:
  PageDirectory() {
    if (mkdtemp(path_.data()) == nullptr) std::terminate();
  }
  ~PageDirectory() { std::filesystem::remove_all(path_); }
  PageDirectory(const PageDirectory&) = delete;
  PageDirectory& operator=(const PageDirectory&) = delete;

  const std::string& path() const { return path_; }
  stats_internal::PageSettings settings() const { return {.runtime_directory = path_}; }
  std::string PathOf(const stats_internal::PageOwner& owner) const { return path_ + '/' + FileNameOf(owner); }
  std::vector<stats_internal::PageFile> files() const { return stats_internal::PageFilesIn(path_); }

 private:
  std::string path_ = "/dev/shm/strongbin-test-XXXXXX";
};

// In a child: whatever is not as it should be ends it.
#define REQUIRE_IN_CHILD(condition)                                                            \
  do {                                                                                         \
    if (condition) break;                                                                      \
    std::fprintf(stderr, "%s:%d: in the child: not so: %s\n", __FILE__, __LINE__, #condition); \
    _exit(1);                                                                                  \
  } while (false)

inline pid_t StartChild(const std::function<void()>& run) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(300);  // a child that hangs must not outlive its test
  run();
  std::exit(0);  // with exit handlers
}
// 0 where the child ended well; else its exit status, or its signal as a negative number.
inline int WaitFor(pid_t child) {
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}
inline int InChild(const std::function<void()>& run) { return WaitFor(StartChild(run)); }

// Reads one's own page; in a child.
inline PageSnapshot ReadOwnPage() {
  PageSnapshot snapshot;
  std::string why;
  if (!ReadStatsPage(StatsPagePath(), &snapshot, &why)) {
    std::fprintf(stderr, "%s\n", why.c_str());
    _exit(1);
  }
  return snapshot;
}

class PageTest : public testing::Test {
 protected:
  // In a child.
  void Open() const {
    std::string why;
    const bool is_open = stats_internal::OpenPage(directory_.settings(), &why);
    if (!is_open) std::fprintf(stderr, "%s\n", why.c_str());
    REQUIRE_IN_CHILD(is_open);
  }

  PageDirectory directory_;
};

// The bytes of a good page with a different number in each cell and two pools, as a process with this number would
// have written them.
inline std::unique_ptr<stats_internal::PageLayout> NumberedPage(uint64_t pid) {
  using namespace stats_internal;
  auto page = std::make_unique<PageLayout>();
  page->header.form = kPageForm;
  page->header.pool_slots = kPagePools;
  page->header.layout_hash = kLayoutHash;
  page->header.page_bytes = sizeof(PageLayout);
  page->header.pid = pid;
  page->header.opened_unix_ns = 1'700'000'000'000'000'000;
  std::snprintf(page->header.program, kPageNameBytes, "db_bench");
  page->header.magic = kPageMagic;
  uint64_t next = 0;
  const auto number = [&next](const MetricInfo&, std::span<Cell> cells) {
    for (Cell& cell : cells) cell.Set(next += 1'000'003);
  };
  ForEachMetric(number, page->rocksdb);
  ForEachMetric(number, page->tables);
  for (const size_t i : {size_t{0}, size_t{2}}) {
    page->pools[i].number = i + 1;
    std::snprintf(page->pools[i].name, kPageNameBytes, "%s", i == 0 ? "default" : "own");
    ForEachMetric(number, page->pools[i].cells);
  }
  return page;
}

inline void WriteBytes(const std::string& path, const void* bytes, size_t count) {
  std::ofstream(path, std::ios::binary).write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
}

}  // namespace strongbin
