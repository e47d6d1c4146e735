#include "strongbin/stats/page_reader.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "strongbin/stats/page_layout.h"
#include "strongbin/stats/snapshot.h"

namespace strongbin {

namespace {

using stats_internal::PageHeader;
using stats_internal::PageLayout;
using stats_internal::PoolSlot;

std::string Hex(uint64_t number) {
  char digits[2 * sizeof(number)];
  const auto result = std::to_chars(digits, digits + sizeof(digits), number, 16);
  return {digits, result.ptr};
}

// Printable ASCII: the names come from another process and go to terminals.
std::string NameIn(const char* bytes, size_t limit) {
  std::string name(bytes, strnlen(bytes, limit));
  for (char& c : name) {
    if (c < ' ' || c > '~') c = '?';
  }
  return name;
}

// Closes what it holds.
class File {
 public:
  // O_NONBLOCK: should it be a pipe, nobody waits for its other end.
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// A read and not a mapping: where the file is cut short meanwhile, a read ends and a mapping would end this process.
bool ReadAll(int fd, void* to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t count = pread(fd, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

// Whether the file may be a page that its owner alone could have written; otherwise why not.
std::string DistrustOf(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return std::strerror(errno);
  if (!S_ISREG(info.st_mode)) return "it is no regular file";
  const uid_t reader = geteuid();
  if (info.st_uid != reader && reader != 0) {
    return "it belongs to user " + std::to_string(info.st_uid) + "; look at it as that user";
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others than its owner may write to it";
  return {};
}

std::string WhatIsWrongWith(const PageHeader& header) {
  const uint64_t magic = header.magic.load(std::memory_order_relaxed);
  if (magic == 0) return "it is still being made; try again";
  if (magic != stats_internal::kPageMagic) return "it is no statistics page of strongbin";
  if (header.form != stats_internal::kPageForm || header.layout_hash != stats_internal::kLayoutHash ||
      header.page_bytes != sizeof(PageLayout) || header.pool_slots != stats_internal::kPagePools) {
    return "its layout is " + std::to_string(header.form) + "/" + Hex(header.layout_hash) + " and this program reads " +
           std::to_string(stats_internal::kPageForm) + "/" + Hex(stats_internal::kLayoutHash) +
           "; use the strongbin-stat that was built with the library in that process (" +
           NameIn(header.program, stats_internal::kPageNameBytes) + ")";
  }
  return {};
}

void ReadPools(const PageLayout& page, PageSnapshot* snapshot) {
  std::set<std::string> names;
  for (const PoolSlot& slot : page.pools) {
    const uint64_t number = slot.number.load(std::memory_order_relaxed);
    if (number == 0 || number == stats_internal::kSlotInWork) continue;
    std::string name = NameIn(slot.name, stats_internal::kPageNameBytes);
    if (name.empty()) name = "pool";
    // Two pools of one number are a lie, and still have to be told apart.
    while (!names.insert(name).second) name += "-" + std::to_string(number);
    snapshot->pools.push_back({name, Snapshot(slot.cells)});
  }
}

}  // namespace

bool ReadStatsPage(const std::string& path, PageSnapshot* snapshot, std::string* why) {
  const auto refuse = [&](const std::string& reason) {
    *why = path + ": " + reason;
    return false;
  };
  const File file(path);
  if (file.fd() < 0) return refuse(std::strerror(errno));
  if (const std::string reason = DistrustOf(file.fd()); !reason.empty()) return refuse(reason);

  // The header first: a page of another layout may be shorter.
  const auto page = std::make_unique<PageLayout>();
  if (!ReadAll(file.fd(), &page->header, sizeof(PageHeader))) return refuse("it is cut short");
  if (const std::string reason = WhatIsWrongWith(page->header); !reason.empty()) return refuse(reason);
  if (!ReadAll(file.fd(), static_cast<void*>(page.get()), sizeof(PageLayout))) return refuse("it is cut short");

  *snapshot = {};
  snapshot->pid = page->header.pid;
  snapshot->program = NameIn(page->header.program, stats_internal::kPageNameBytes);
  snapshot->opened_unix_ns = page->header.opened_unix_ns;
  snapshot->pools_left_out = page->header.pools_left_out.Load();
  snapshot->tables = Snapshot(page->tables);
  snapshot->rocksdb = Snapshot(page->rocksdb);
  ReadPools(*page, snapshot);
  return true;
}

PoolStats SumOfPools(const PageSnapshot& snapshot) {
  PoolStats sum;
  for (const PageSnapshot::Pool& pool : snapshot.pools) Accumulate(&sum, pool.stats, /*has_ended=*/false);
  return sum;
}

std::vector<stats_internal::PageFile> FindStatsPages() {
  const char* runtime_directory = std::getenv("XDG_RUNTIME_DIR");
  std::vector<stats_internal::PageFile> found;
  for (const std::string& directory :
       stats_internal::DirectoriesOfPages(runtime_directory == nullptr ? "" : runtime_directory)) {
    stats_internal::RemoveStalePages(directory);
    for (stats_internal::PageFile& file : stats_internal::PageFilesIn(directory)) found.push_back(std::move(file));
  }
  return found;
}

}  // namespace strongbin
