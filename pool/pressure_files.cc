#include "strongbin/pool/pressure_files.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

namespace strongbin {
namespace {

bool ReadWhole(const std::string& path, std::string* text) {
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return false;
  text->clear();
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) return true;
    text->append(buffer.data(), static_cast<size_t>(count));
  }
}

// Cuts the text up to `end`, or all of it, off the front.
std::string_view CutUpTo(std::string_view* text, char end) {
  const size_t at = text->find(end);
  const std::string_view part = text->substr(0, at);
  text->remove_prefix(at == std::string_view::npos ? text->size() : at + 1);
  return part;
}

// The kernel writes blanks and backslashes of paths as octal numbers.
std::string Unescaped(std::string_view path) {
  std::string plain;
  for (size_t i = 0; i < path.size(); ++i) {
    unsigned char byte = 0;
    const auto [end, error] = i + 4 <= path.size() ? std::from_chars(path.data() + i + 1, path.data() + i + 4, byte, 8)
                                                   : std::from_chars_result{nullptr, std::errc::invalid_argument};
    if (path[i] == '\\' && error == std::errc() && end == path.data() + i + 4) {
      plain += static_cast<char>(byte);
      i += 3;
    } else {
      plain += path[i];
    }
  }
  return plain;
}

std::string Failure(const std::string& path, int error) {
  std::string text = path + ": " + std::strerror(error);
  if (error == ENOENT) text += " (a kernel without pressure stall information or cgroup version 2 for memory?)";
  if (error == EACCES || error == EPERM) {
    text += " (the file is not this user's, or a kernel before 6.5, which lets only privileged processes set triggers)";
  }
  if (error == EOPNOTSUPP) text += " (pressure stall information is switched off in this kernel: psi=0)";
  return text;
}

}  // namespace

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) close(fd_);
}

std::string FindCgroupFolder(const std::string& cgroup_path, const std::string& mountinfo_path, std::string* why_not) {
  std::string text;
  if (!ReadWhole(cgroup_path, &text)) {
    *why_not = Failure(cgroup_path, errno);
    return {};
  }
  constexpr std::string_view kVersion2 = "0::";
  std::string cgroup;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = CutUpTo(&rest, '\n');
    if (line.substr(0, kVersion2.size()) == kVersion2) cgroup = line.substr(kVersion2.size());
  }
  if (!ReadWhole(mountinfo_path, &text)) {
    *why_not = Failure(mountinfo_path, errno);
    return {};
  }
  // ID parent major:minor root mount-point options [tags ...] - type source super-options
  for (std::string_view rest = text; !cgroup.empty() && !rest.empty();) {
    std::string_view line = CutUpTo(&rest, '\n');
    constexpr std::string_view kType = " - cgroup2 ";
    if (line.find(kType) == std::string_view::npos) continue;
    for (int field = 0; field < 3; ++field) CutUpTo(&line, ' ');
    const std::string root = Unescaped(CutUpTo(&line, ' '));
    const std::string mount_point = Unescaped(CutUpTo(&line, ' '));
    const bool is_whole = root == "/";
    if (!is_whole && cgroup.compare(0, root.size(), root) != 0) continue;
    std::string below = is_whole ? cgroup : cgroup.substr(root.size());
    while (!below.empty() && below.back() == '/') below.pop_back();
    return mount_point + below;
  }
  *why_not = "this process is in no mounted cgroup of version 2";
  return {};
}

bool OpenTrigger(const std::string& path, uint64_t stall_us, uint64_t window_us, PressureTrigger* trigger,
                 std::string* why_not) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    *why_not = Failure(path, errno);
    return false;
  }
  const bool is_fifo = S_ISFIFO(info.st_mode);
  OwnedFd fd(open(path.c_str(), (is_fifo ? O_RDONLY : O_RDWR) | O_NONBLOCK | O_CLOEXEC));
  if (!fd) {
    *why_not = Failure(path, errno);
    return false;
  }
  if (!is_fifo) {
    const std::string wish = "some " + std::to_string(stall_us) + " " + std::to_string(window_us);
    // With its closing zero, as the kernel wants it.
    if (write(fd.get(), wish.c_str(), wish.size() + 1) < 0) {
      *why_not = Failure(path, errno) + ", asked for \"" + wish + "\"";
      return false;
    }
  }
  trigger->path = path;
  trigger->fd = std::move(fd);
  trigger->events = is_fifo ? POLLIN : POLLPRI;
  return true;
}

TriggerNews ReadTrigger(const PressureTrigger& trigger, short told) {
  if ((told & (POLLERR | POLLNVAL)) != 0) return TriggerNews::kGone;
  bool is_event = (told & POLLPRI) != 0;
  if ((told & POLLIN) != 0 && trigger.events == POLLIN) {
    std::array<char, 256> bytes;
    while (read(trigger.fd.get(), bytes.data(), bytes.size()) > 0) is_event = true;
  }
  if (is_event) return TriggerNews::kEvent;
  return (told & POLLHUP) != 0 ? TriggerNews::kGone : TriggerNews::kNothing;
}

bool LimitEvents::Open(const std::string& path, std::string* why_not) {
  path_ = path;
  OwnedFd inotify(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify || inotify_add_watch(inotify.get(), path.c_str(), IN_MODIFY | IN_DELETE_SELF) < 0 ||
      !ReadCount(&count_)) {
    *why_not = Failure(path, errno);
    return false;
  }
  inotify_ = std::move(inotify);
  return true;
}

bool LimitEvents::Grew(bool* gone) {
  alignas(inotify_event) std::array<char, 4096> buffer;
  for (ssize_t count; (count = read(inotify_.get(), buffer.data(), buffer.size())) > 0;) {
    for (ssize_t at = 0; at < count;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      if ((event->mask & (IN_IGNORED | IN_DELETE_SELF)) != 0) *gone = true;
      at += static_cast<ssize_t>(sizeof(inotify_event)) + event->len;
    }
  }
  uint64_t now = 0;
  if (*gone || !ReadCount(&now) || now <= count_) return false;
  count_ = now;
  return true;
}

bool LimitEvents::ReadCount(uint64_t* count) const {
  std::string text;
  if (!ReadWhole(path_, &text)) return false;
  *count = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = CutUpTo(&rest, '\n');
    const std::string_view name = CutUpTo(&line, ' ');
    uint64_t value = 0;
    if (name != "high" && name != "max") continue;
    std::from_chars(line.data(), line.data() + line.size(), value);
    *count += value;
  }
  return true;
}

}  // namespace strongbin
