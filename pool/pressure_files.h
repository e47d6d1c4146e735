// The kernel's files that tell of memory pressure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace strongbin {

// A file descriptor that closes itself.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// The folder of this process's cgroup (version 2). Empty, with the reason in `why_not`, where there is none.
// The arguments are /proc/self/cgroup and /proc/self/mountinfo, or what stands in for them.
std::string FindCgroupFolder(const std::string& cgroup_path, const std::string& mountinfo_path, std::string* why_not);

// One file with pressure stall information and a trigger set in it. A FIFO may stand in for the file: it gets no
// trigger, and every byte that comes out of it is an event.
struct PressureTrigger {
  std::string path;
  OwnedFd fd;
  short events = 0;  // what poll waits for
};

// Sets a trigger: "some task has waited for memory for stall_us within window_us". False, with the reason, where the
// kernel refuses.
bool OpenTrigger(const std::string& path, uint64_t stall_us, uint64_t window_us, PressureTrigger* trigger,
                 std::string* why_not);

// What poll has told of a trigger.
enum class TriggerNews : uint8_t { kNothing, kEvent, kGone };
TriggerNews ReadTrigger(const PressureTrigger& trigger, short told);

// memory.events of a cgroup: how often its tasks met the limits `high` and `max`.
//
// Thread safety: none.
class LimitEvents {
 public:
  // False, with the reason, where the file cannot be watched.
  bool Open(const std::string& path, std::string* why_not);
  // For poll, which tells POLLIN when Grew is to be asked. -1 where there is nothing to watch.
  int fd() const { return inotify_.get(); }
  // Whether there were such events since the last call. Sets `gone` when the file is.
  bool Grew(bool* gone);

 private:
  bool ReadCount(uint64_t* count) const;

  std::string path_;
  OwnedFd inotify_;
  uint64_t count_ = 0;
};

}  // namespace strongbin
