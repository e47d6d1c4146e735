// From what Linux tells of memory pressure to a call of the hook: with stand-ins for the files, and with the real
// thing.
#include "strongbin/pool/pressure_monitor.h"

#include <atomic>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/pool/pressure_files.h"
#include "strongbin/tests/pool/pool_test_util.h"
#include "strongbin/tests/pool/thread_names.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kMs = 1'000'000;
constexpr const char* kMonitorThread = "strongbin-press";

// Waits until it is so; a test that waits for ever is ended by its time limit.
template <class Condition>
void WaitUntil(Condition&& condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void WriteFile(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::trunc) << text; }
std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A FIFO that stands in for a file with pressure stall information.
class FakePressure {
 public:
  explicit FakePressure(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
    Reopen();
  }
  ~FakePressure() { Close(); }
  // Both ends, since a FIFO without a reader cannot be opened for writing alone.
  void Reopen() { fd_ = open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  void Raise() const { EXPECT_EQ(write(fd_, "!", 1), 1); }

 private:
  const std::string path_;
  int fd_ = -1;
};

class PressureMonitorTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "strongbin-pressure-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::filesystem::create_directory(cgroup());
  }
  void TearDown() override {
    chmod(cgroup().c_str(), 0700);
    std::filesystem::remove_all(folder_);
  }

  std::string cgroup() const { return folder_ + "/cgroup"; }
  std::string system_path() const { return folder_ + "/system"; }
  PressureMonitorOptions Options() {
    PressureMonitorOptions options;
    options.system_pressure_path = system_path();
    options.cgroup_folder = cgroup();
    options.on_pressure = [this] {
      calls_++;
      return size_t{1};
    };
    options.clock_ns = [this] { return now_ms_ * kMs; };
    return options;
  }
  void WriteEvents(int high, int max) const {
    WriteFile(cgroup() + "/memory.events", "low 0\nhigh " + std::to_string(high) + "\nmax " + std::to_string(max) +
                                               "\noom 0\noom_kill 0\noom_group_kill 0\n");
  }
  // Returns when the monitor has dealt with one event more.
  void Raise(PressureMonitor* monitor, const std::function<void()>& raise) {
    const uint64_t before = monitor->event_count();
    const uint64_t calls = calls_;
    raise();
    WaitUntil([&] { return monitor->event_count() > before; });
    // The event is counted before the call.
    if (expect_call_) WaitUntil([&] { return calls_ > calls; });
  }

  std::string folder_;
  std::atomic<uint64_t> now_ms_{1'000'000};
  std::atomic<uint64_t> calls_{0};
  bool expect_call_ = false;
};

TEST_F(PressureMonitorTest, OneShortageIsOneCallHoweverManyFilesTellOfIt) {
  FakePressure system(system_path()), own(cgroup() + "/memory.pressure");
  WriteEvents(3, 4);
  std::string report;
  const auto monitor = PressureMonitor::Start(Options(), &report);
  ASSERT_NE(monitor, nullptr) << report;
  EXPECT_EQ(monitor->watched_count(), 3u);
  EXPECT_THAT(report, HasSubstr(system_path()));
  EXPECT_THAT(report, HasSubstr(cgroup() + "/memory.pressure"));
  EXPECT_THAT(report, HasSubstr(cgroup() + "/memory.events"));
  EXPECT_EQ(CountThreads(kMonitorThread), 1u);

  int high = 3, max = 4;
  const std::vector<std::function<void()>> files = {[&] { system.Raise(); }, [&] { own.Raise(); },
                                                    [&] { WriteEvents(++high, max); },
                                                    [&] { WriteEvents(high, ++max); }};
  // Each file alone is answered, and then nothing that comes within the rest is.
  for (size_t first = 0; first < files.size(); first++) {
    SCOPED_TRACE(first);
    const uint64_t calls = calls_;
    expect_call_ = true;
    Raise(monitor.get(), files[first]);
    expect_call_ = false;
    for (int echo = 0; echo < 8; echo++) {
      now_ms_ += 4'000;
      Raise(monitor.get(), files[static_cast<size_t>(echo) % files.size()]);
    }
    EXPECT_EQ(calls_, calls + 1);
    now_ms_ += 5'000;
  }
  EXPECT_EQ(monitor->call_count(), files.size());
}

TEST_F(PressureMonitorTest, AShortageThatLastsIsAnsweredAgain) {
  FakePressure system(system_path());
  const auto monitor = PressureMonitor::Start(Options(), nullptr);
  ASSERT_NE(monitor, nullptr);
  // Every 2 seconds for 5 minutes, as the kernel tells of a shortage that lasts: one call a minute.
  for (int i = 0; i < 150; i++) {
    Raise(monitor.get(), [&] { system.Raise(); });
    now_ms_ += 2'000;
  }
  const auto last = monitor->event_count();
  WaitUntil([&] { return monitor->event_count() == last; });
  monitor->Stop();
  EXPECT_EQ(calls_, 5u);
}

TEST_F(PressureMonitorTest, OnlyEventsAtTheLimitsCount) {
  WriteEvents(1, 1);
  PressureMonitorOptions options = Options();
  options.system_pressure_path.clear();
  std::string report;
  const auto monitor = PressureMonitor::Start(options, &report);
  ASSERT_NE(monitor, nullptr);
  EXPECT_EQ(monitor->watched_count(), 1u);
  EXPECT_THAT(report, HasSubstr("memory.pressure: No such file"));
  // Other lines change, and the same numbers are written again.
  WriteFile(cgroup() + "/memory.events", "low 7\nhigh 1\nmax 1\noom 2\noom_kill 1\n");
  WriteEvents(1, 1);
  expect_call_ = true;
  Raise(monitor.get(), [&] { WriteEvents(1, 2); });
  EXPECT_EQ(monitor->event_count(), 1u);
  EXPECT_EQ(calls_, 1u);
}

TEST_F(PressureMonitorTest, TheTriggerIsWhatWasAskedFor) {
  WriteFile(system_path(), "");
  PressureMonitorOptions options = Options();
  options.cgroup_folder = "";
  options.stall_us = 70'000;
  options.window_us = 1'000'000;
  const auto monitor = PressureMonitor::Start(options, nullptr);
  ASSERT_NE(monitor, nullptr);
  EXPECT_EQ(ReadFile(system_path()), std::string("some 70000 1000000") + '\0');
  EXPECT_EQ(PressureMonitorOptions().window_us % 2'000'000, 0u) << "what the kernel lets ordinary users have";
}

TEST_F(PressureMonitorTest, WhyItCannotStartIsSaidForEachFile) {
  std::string report;
  EXPECT_EQ(PressureMonitor::Start(Options(), &report), nullptr);
  EXPECT_THAT(report, HasSubstr("cannot be watched"));
  for (const std::string& path : {system_path(), cgroup() + "/memory.pressure", cgroup() + "/memory.events"}) {
    EXPECT_THAT(report, HasSubstr(path + ": No such file or directory"));
  }
  EXPECT_EQ(CountThreads(kMonitorThread), 0u);
  EXPECT_EQ(PressureMonitor::Start(Options(), nullptr), nullptr);
}

TEST_F(PressureMonitorTest, AnOrdinaryUserIsToldWhatIsForbidden) {
  WriteFile(system_path(), "");
  chmod(system_path().c_str(), 0444);
  // Whoever may do anything gives that up first, in a child.
  const pid_t child = fork();
  if (child == 0) {
    if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(2);
    chmod(folder_.c_str(), 0755);
    PressureMonitorOptions options;
    options.system_pressure_path = system_path();
    options.cgroup_folder = "";
    std::string report;
    if (PressureMonitor::Start(options, &report) != nullptr) _exit(3);
    _exit(report.find(system_path() + ": Permission denied") != std::string::npos ? 0 : 4);
  }
  chmod(folder_.c_str(), 0755);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(PressureMonitorTest, WithoutDescriptorsItDoesNotStartAndSaysSo) {
  if (kAddressSanitizer) GTEST_SKIP() << "the sanitizers' own look at memory needs a descriptor";
  FakePressure system(system_path());
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  std::string report;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto monitor = PressureMonitor::Start(Options(), &report);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(monitor, nullptr);
  EXPECT_THAT(report, HasSubstr("Too many open files"));
}

TEST_F(PressureMonitorTest, FilesThatGoAreWatchedNoMoreAndTheOthersStill) {
  auto own = std::make_unique<FakePressure>(cgroup() + "/memory.pressure");
  FakePressure system(system_path());
  WriteEvents(0, 0);
  const auto monitor = PressureMonitor::Start(Options(), nullptr);
  ASSERT_NE(monitor, nullptr);
  own.reset();
  WaitUntil([&] { return monitor->watched_count() == 2; });
  std::filesystem::remove(cgroup() + "/memory.events");
  WaitUntil([&] { return monitor->watched_count() == 1; });
  expect_call_ = true;
  Raise(monitor.get(), [&] { system.Raise(); });
  system.Close();
  WaitUntil([&] { return monitor->watched_count() == 0; });
  monitor->Stop();
  EXPECT_EQ(CountThreads(kMonitorThread), 0u);
  EXPECT_EQ(calls_, 1u);
}

TEST_F(PressureMonitorTest, ByDefaultItCallsTheHookOfTheProcess) {
  FakePressure system(system_path());
  ChunkPool pool(PoolOptions(size_t{1} << 20));
  ChunkPool::Release(AcquireMany(&pool, 4096, 10));
  PressureMonitorOptions options = Options();
  options.on_pressure = nullptr;
  const auto monitor = PressureMonitor::Start(options, nullptr);
  ASSERT_NE(monitor, nullptr);
  system.Raise();
  WaitUntil([&] { return monitor->call_count() == 1; });
  EXPECT_EQ(Sum(pool.Stats().idle_bytes), 0u);
  EXPECT_EQ(pool.Stats().pressure_calls, 1u);
}

TEST_F(PressureMonitorTest, ItMayBeStoppedAndDestroyedWithinTheHook) {
  FakePressure system(system_path());
  std::unique_ptr<PressureMonitor> monitor;
  std::latch ready(1);
  PressureMonitorOptions options = Options();
  options.on_pressure = [&] {
    ready.wait();
    monitor.reset();
    calls_++;
    return size_t{0};
  };
  monitor = PressureMonitor::Start(options, nullptr);
  ASSERT_NE(monitor, nullptr);
  system.Raise();
  ready.count_down();
  WaitUntil([&] { return calls_ == 1; });
  WaitUntil([&] { return CountThreads(kMonitorThread) == 0; });
}

TEST_F(PressureMonitorTest, TheEndWaitsForTheHook) {
  FakePressure system(system_path());
  std::latch inside(1);
  PressureMonitorOptions options = Options();
  options.on_pressure = [&] {
    inside.count_down();
    for (int i = 0; i < 1'000; i++) std::this_thread::yield();
    calls_++;
    return size_t{0};
  };
  auto monitor = PressureMonitor::Start(options, nullptr);
  ASSERT_NE(monitor, nullptr);
  system.Raise();
  inside.wait();
  monitor.reset();
  EXPECT_EQ(calls_, 1u);
  EXPECT_EQ(CountThreads(kMonitorThread), 0u);
}

TEST_F(PressureMonitorTest, AChildHasNoThreadAndLeavesTheParentsAlone) {
  FakePressure system(system_path());
  auto monitor = PressureMonitor::Start(Options(), nullptr);
  ASSERT_NE(monitor, nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    if (CountThreads(nullptr) != 1) _exit(2);
    monitor.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  expect_call_ = true;
  Raise(monitor.get(), [&] { system.Raise(); });
}

TEST_F(PressureMonitorTest, TheCgroupIsFoundWhereverItIsMounted) {
  const std::string cgroups = folder_ + "/cgroups", mounts = folder_ + "/mounts";
  const std::string other =
      "30 1 0:26 / /proc rw - proc proc rw\n31 1 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw\n";
  struct Case {
    std::string cgroup, mount, found;
  };
  const std::vector<Case> cases = {
      {"0::/user.slice/a b\n", "40 30 0:37 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
       "/sys/fs/cgroup/user.slice/a b"},
      {"9:name=systemd:/x\n0::/\n", "40 30 0:37 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n",
       "/sys/fs/cgroup/unified"},
      {"0::/box/one\n", "40 30 0:37 /box /mnt/my\\040cgroup rw - cgroup2 none rw\n", "/mnt/my cgroup/one"},
      {"0::/elsewhere\n", "40 30 0:37 /box /mnt/cgroup rw - cgroup2 none rw\n", ""},
      {"4:memory:/x\n", "40 30 0:37 / /sys/fs/cgroup rw - cgroup2 none rw\n", ""},
      {"0::/x\n", "", ""},
  };
  for (const Case& one : cases) {
    WriteFile(cgroups, one.cgroup);
    WriteFile(mounts, other + one.mount);
    std::string why_not;
    EXPECT_EQ(FindCgroupFolder(cgroups, mounts, &why_not), one.found);
    EXPECT_EQ(why_not.empty(), !one.found.empty()) << why_not;
  }
  std::string why_not;
  EXPECT_EQ(FindCgroupFolder(folder_ + "/nothing", mounts, &why_not), "");
  EXPECT_THAT(why_not, HasSubstr(folder_ + "/nothing: No such file"));
}

}  // namespace
}  // namespace strongbin
