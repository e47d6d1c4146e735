#include "strongbin/stats/page_files.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "strongbin/stats/page_layout.h"

namespace strongbin::stats_internal {

namespace {

constexpr std::string_view kPrefix = "strongbin-stats";
constexpr const char* kSharedMemoryDirectory = "/dev/shm";

// What a file holds; files of /proc have no size. Nothing where it cannot be read.
std::optional<std::string> ContentOf(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return std::nullopt;
  std::string content;
  char buffer[4096];
  while (const size_t bytes = std::fread(buffer, 1, sizeof(buffer), file)) content.append(buffer, bytes);
  std::fclose(file);
  return content;
}

std::string ProcPath(uint64_t pid, const char* file) { return "/proc/" + std::to_string(pid) + "/" + file; }

std::optional<uint64_t> PidNamespace() {
  struct stat info;
  if (stat("/proc/self/ns/pid", &info) != 0) return std::nullopt;
  return info.st_ino;
}

bool IsPrivateTmpfs(const std::string& directory) {
  struct stat info;
  struct statfs file_system;
  return directory.starts_with('/') && stat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
         statfs(directory.c_str(), &file_system) == 0 && file_system.f_type == TMPFS_MAGIC;
}

// The header is complete, so its process has mapped the page.
bool IsReady(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  uint64_t magic = 0;
  const bool is_ready = pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic == kPageMagic;
  close(fd);
  return is_ready;
}

}  // namespace

std::string FileNameOf(const PageOwner& owner) {
  std::string name(kPrefix);
  for (const uint64_t number : {owner.uid, owner.pid, owner.start_ticks, owner.pid_namespace}) {
    name += '.' + std::to_string(number);
  }
  return name;
}

std::optional<PageOwner> OwnerFromFileName(std::string_view file_name) {
  if (!file_name.starts_with(kPrefix)) return std::nullopt;
  file_name.remove_prefix(kPrefix.size());
  PageOwner owner;
  for (uint64_t* number : {&owner.uid, &owner.pid, &owner.start_ticks, &owner.pid_namespace}) {
    if (!file_name.starts_with('.')) return std::nullopt;
    file_name.remove_prefix(1);
    const auto [end, error] = std::from_chars(file_name.data(), file_name.data() + file_name.size(), *number);
    if (error != std::errc()) return std::nullopt;
    file_name.remove_prefix(static_cast<size_t>(end - file_name.data()));
  }
  return file_name.empty() ? std::optional(owner) : std::nullopt;
}

// Field 22, counted from 1; the second field is a name in parentheses that may hold anything.
std::optional<uint64_t> StartTicksOf(uint64_t pid) {
  constexpr int kFieldsBetween = 20;
  const std::optional<std::string> line = ContentOf(ProcPath(pid, "stat"));
  if (!line) return std::nullopt;
  size_t at = line->rfind(')');
  for (int i = 0; i < kFieldsBetween && at != std::string::npos; ++i) at = line->find(' ', at + 1);
  if (at == std::string::npos) return std::nullopt;
  uint64_t ticks = 0;
  const auto [end, error] = std::from_chars(line->data() + at + 1, line->data() + line->size(), ticks);
  return error == std::errc() ? std::optional(ticks) : std::nullopt;
}

std::optional<PageOwner> ThisProcess() {
  const auto pid = static_cast<uint64_t>(getpid());
  const std::optional<uint64_t> start_ticks = StartTicksOf(pid);
  const std::optional<uint64_t> pid_namespace = PidNamespace();
  if (!start_ticks || !pid_namespace) return std::nullopt;
  return PageOwner{geteuid(), pid, *start_ticks, *pid_namespace};
}

std::string DirectoryForPage(const std::string& runtime_directory) {
  return IsPrivateTmpfs(runtime_directory) ? runtime_directory : kSharedMemoryDirectory;
}

std::vector<std::string> DirectoriesOfPages(const std::string& runtime_directory) {
  std::vector<std::string> directories{kSharedMemoryDirectory};
  for (const std::string& directory : {runtime_directory, "/run/user/" + std::to_string(geteuid())}) {
    if (IsPrivateTmpfs(directory) && std::ranges::find(directories, directory) == directories.end()) {
      directories.push_back(directory);
    }
  }
  return directories;
}

std::vector<PageFile> PageFilesIn(const std::string& directory) {
  std::vector<PageFile> files;
  DIR* stream = opendir(directory.c_str());
  if (stream == nullptr) return files;
  while (const dirent* entry = readdir(stream)) {
    const std::optional<PageOwner> owner = OwnerFromFileName(entry->d_name);
    struct stat info;
    // The name may be anybody's claim; the file's owner is the kernel's.
    if (!owner || owner->uid != geteuid() || fstatat(dirfd(stream), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        info.st_uid != geteuid()) {
      continue;
    }
    files.push_back({directory + '/' + entry->d_name, *owner});
  }
  closedir(stream);
  std::ranges::sort(files, {}, [](const PageFile& file) { return file.owner.pid; });
  return files;
}

OwnerState StateOf(const PageFile& file) {
  if (PidNamespace() != file.owner.pid_namespace) return OwnerState::kElsewhere;
  if (StartTicksOf(file.owner.pid) != file.owner.start_ticks) return OwnerState::kGone;
  // A program that the process has since become has the same number and start, and not the page. What may not be looked
  // at, and what is just being made, is left alone.
  const std::optional<std::string> maps = ContentOf(ProcPath(file.owner.pid, "maps"));
  if (!maps || maps->empty() || maps->find(file.path.substr(file.path.rfind('/') + 1)) != std::string::npos) {
    return OwnerState::kRuns;
  }
  return IsReady(file.path) ? OwnerState::kGone : OwnerState::kRuns;
}

size_t RemoveStalePages(const std::string& directory) {
  size_t removed = 0;
  for (const PageFile& file : PageFilesIn(directory)) {
    if (StateOf(file) == OwnerState::kGone && unlink(file.path.c_str()) == 0) ++removed;
  }
  return removed;
}

}  // namespace strongbin::stats_internal
