// Where statistics pages lie, what their files are called, and whether somebody still writes to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strongbin::stats_internal {

// Which process a page belongs to; its file's name says it all. Process numbers mean nothing without their namespace.
struct PageOwner {
  uint64_t uid = 0;
  uint64_t pid = 0;
  uint64_t start_ticks = 0;
  uint64_t pid_namespace = 0;

  bool operator==(const PageOwner&) const = default;
};

std::string FileNameOf(const PageOwner& owner);
std::optional<PageOwner> OwnerFromFileName(std::string_view file_name);

// This process; nothing where /proc does not tell.
std::optional<PageOwner> ThisProcess();
std::optional<uint64_t> StartTicksOf(uint64_t pid);

// Where a process whose XDG_RUNTIME_DIR this is puts its page: there, if that is a tmpfs directory that only this user
// may write to; else /dev/shm.
std::string DirectoryForPage(const std::string& runtime_directory);
// Where pages of this user may lie.
std::vector<std::string> DirectoriesOfPages(const std::string& runtime_directory);

struct PageFile {
  std::string path;
  PageOwner owner;
};
// The pages of this user in a directory, by process.
std::vector<PageFile> PageFilesIn(const std::string& directory);

enum class OwnerState : uint8_t {
  kRuns,       // and has the page
  kGone,       // ended, or has become another program
  kElsewhere,  // in another namespace of process numbers, so nobody here can tell
};
OwnerState StateOf(const PageFile& file);

// Removes the pages of this user whose processes are gone. Returns how many.
size_t RemoveStalePages(const std::string& directory);

}  // namespace strongbin::stats_internal
