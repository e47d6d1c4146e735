// The monitor under real pressure: a child process thrashes the page cache of a small memory cgroup, and the kernel's
// word for it empties its pool.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/pool/pressure_files.h"
#include "strongbin/pool/pressure_monitor.h"
#include "strongbin/tests/pool/pool_test_util.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kLimitBytes = 64 * kMiB;
constexpr size_t kIdleBytes = 16 * kMiB;

bool WriteFile(const std::string& path, const std::string& text) {
  const OwnedFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// The folder of this process in the memory controller of cgroup version 1; empty where there is none.
std::string FindVersion1Folder() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.find(":memory:");
    if (at != std::string::npos) return "/sys/fs/cgroup/memory" + line.substr(at + 8);
  }
  return {};
}

// Cgroups of this test's own, below those of this process. They go with it.
class TestCgroups {
 public:
  // Empty, or why there are none.
  std::string Create() {
    std::string why_not;
    const std::string base = FindCgroupFolder("/proc/self/cgroup", "/proc/self/mountinfo", &why_not);
    if (base.empty()) return why_not;
    folder_ = base + "/strongbin-test-" + std::to_string(getpid());
    if (mkdir(folder_.c_str(), 0755) != 0) return folder_ + ": " + std::strerror(errno);
    folders_.push_back(folder_);
    if (access((folder_ + "/memory.pressure").c_str(), W_OK) != 0) return folder_ + " has no memory.pressure";
    const std::string bytes = std::to_string(kLimitBytes);
    if (WriteFile(folder_ + "/memory.max", bytes)) return {};
    // Version 2 without its memory controller: the limit then is one of version 1, and the stalls are told in 2.
    const std::string version1 = FindVersion1Folder();
    if (version1.empty()) return "no memory controller in " + base + " and none of version 1";
    const std::string limited = version1 + "/strongbin-test-" + std::to_string(getpid());
    if (mkdir(limited.c_str(), 0755) != 0) return limited + ": " + std::strerror(errno);
    folders_.push_back(limited);
    if (!WriteFile(limited + "/memory.limit_in_bytes", bytes)) return limited + " takes no limit";
    return {};
  }
  ~TestCgroups() {
    for (const std::string& folder : folders_) rmdir(folder.c_str());
  }

  const std::string& folder() const { return folder_; }
  bool Enter() const {
    for (const std::string& folder : folders_) {
      if (!WriteFile(folder + "/cgroup.procs", "0")) return false;
    }
    return true;
  }

 private:
  std::string folder_;
  std::vector<std::string> folders_;
};

// Writes and reads a file of twice the limit until the monitor has called the hook.
int Thrash(const TestCgroups& cgroups, const std::string& file_path) {
  if (!cgroups.Enter()) return 2;
  ChunkPool pool(PoolOptions(kIdleBytes));
  auto chunks = AcquireMany(&pool, kMiB, kIdleBytes / kMiB);
  for (const Chunk& chunk : chunks) std::memset(chunk.data, 1, chunk.bytes);
  ChunkPool::Release(chunks);
  PressureMonitorOptions options;
  options.system_pressure_path.clear();
  options.cgroup_folder = cgroups.folder();
  options.stall_us = 5'000;
  std::string report;
  const auto monitor = PressureMonitor::Start(options, &report);
  if (monitor == nullptr) {
    std::fprintf(stderr, "%s\n", report.c_str());
    return 3;
  }
  const OwnedFd file(open(file_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  std::vector<char> block(kMiB, 'b');
  for (size_t i = 0; i < 2 * kLimitBytes / kMiB; i++) {
    if (write(file.get(), block.data(), block.size()) != static_cast<ssize_t>(block.size())) return 4;
  }
  fsync(file.get());
  while (monitor->call_count() == 0) {
    for (size_t i = 0; i < 2 * kLimitBytes / kMiB && monitor->call_count() == 0; i++) {
      if (pread(file.get(), block.data(), block.size(), static_cast<off_t>(i * kMiB)) <= 0) return 5;
    }
  }
  const PoolStats stats = pool.Stats();
  if (Sum(stats.idle_bytes) != 0 || stats.pressure_drop_bytes != kIdleBytes) return 6;
  return 0;
}

TEST(RealPressureTest, AShortageInTheCgroupEmptiesThePool) {
  if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "a sanitizer needs more memory than the limit leaves";
  TestCgroups cgroups;
  const std::string why_not = cgroups.Create();
  if (!why_not.empty()) GTEST_SKIP() << "no memory cgroup of its own: " << why_not;
  const std::string file_path = testing::TempDir() + "strongbin-thrash-" + std::to_string(getpid());
  const pid_t child = fork();
  if (child == 0) _exit(Thrash(cgroups, file_path));
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  std::filesystem::remove(file_path);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// The kernel's own file, as a user without any rights.
TEST(RealPressureTest, AnOrdinaryUserWatchesTheSystemWhereTheKernelAllowsIt) {
  const pid_t child = fork();
  if (child == 0) {
    if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(2);
    PressureMonitorOptions options;
    options.cgroup_folder = "";
    std::string report;
    const auto monitor = PressureMonitor::Start(options, &report);
    std::fprintf(stderr, "%s\n", report.c_str());
    if (monitor != nullptr) _exit(0);
    utsname kernel{};
    int major = 0, minor = 0;
    if (uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2) _exit(3);
    const bool is_new = major > 6 || (major == 6 && minor >= 5);
    if (is_new && access(options.system_pressure_path.c_str(), W_OK) == 0) _exit(4);
    _exit(report.find(options.system_pressure_path) != std::string::npos ? 0 : 5);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace strongbin
