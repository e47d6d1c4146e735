#include "strongbin/pool/pressure_monitor.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "strongbin/pool/pool_timer.h"
#include "strongbin/pool/pressure_episode.h"
#include "strongbin/pool/pressure_files.h"
#include "strongbin/pool/pressure_hook.h"
#include "strongbin/pool/service_thread.h"

namespace strongbin {

struct PressureMonitor::State {
  explicit State(const PressureMonitorOptions& options)
      : on_pressure(options.on_pressure ? options.on_pressure
                                        : [] { return PressureHook::Process().OnMemoryPressure(); }),
        clock_ns(options.clock_ns ? options.clock_ns : &PoolTimer::NowNs),
        episode(options.rest_ms * kNsPerMs, options.again_ms * kNsPerMs) {}

  void Run();
  void Watch();
  void OnEvent();
  void CountWatched() { watched_count.store(triggers.size() + (limits.fd() >= 0 ? 1 : 0), std::memory_order_relaxed); }

  static constexpr uint64_t kNsPerMs = 1'000'000;

  const std::function<size_t()> on_pressure;
  const std::function<uint64_t()> clock_ns;
  const pid_t process = getpid();
  OwnedFd stop_fd{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<bool> stopped{false};  // relaxed: the event of stop_fd comes after it

  // Numbers to look at, but for call_count: release, after the call that it counts.
  std::atomic<uint64_t> event_count{0};
  std::atomic<uint64_t> call_count{0};
  std::atomic<size_t> watched_count{0};

  // The thread's, once it runs.
  std::vector<PressureTrigger> triggers;
  LimitEvents limits;
  PressureEpisode episode;

  ServiceThread thread;  // belongs to the first to stop it
};

std::unique_ptr<PressureMonitor> PressureMonitor::Start(const PressureMonitorOptions& options, std::string* report) {
  const auto state = std::make_shared<State>(options);
  std::string watched, refused;
  const auto add = [](std::string* list, const std::string& text) { *list += (list->empty() ? "" : "; ") + text; };
  const auto watch_trigger = [&](const std::string& path) {
    PressureTrigger trigger;
    std::string why_not;
    if (OpenTrigger(path, options.stall_us, options.window_us, &trigger, &why_not)) {
      add(&watched, path);
      state->triggers.push_back(std::move(trigger));
    } else {
      add(&refused, why_not);
    }
  };

  std::string why_no_cgroup;
  const std::string cgroup = options.cgroup_folder
                                 ? *options.cgroup_folder
                                 : FindCgroupFolder("/proc/self/cgroup", "/proc/self/mountinfo", &why_no_cgroup);
  if (!why_no_cgroup.empty()) add(&refused, why_no_cgroup);
  if (!cgroup.empty()) {
    watch_trigger(cgroup + "/memory.pressure");
    std::string why_not;
    if (state->limits.Open(cgroup + "/memory.events", &why_not)) {
      add(&watched, cgroup + "/memory.events");
    } else {
      add(&refused, why_not);
    }
  }
  if (!options.system_pressure_path.empty()) watch_trigger(options.system_pressure_path);
  state->CountWatched();

  bool started = false;
  if (!state->stop_fd) {
    add(&refused, std::string("eventfd: ") + std::strerror(errno));
  } else if (!watched.empty()) {
    started = state->thread.Start("strongbin-press", [state] { state->Run(); });
    if (!started) add(&refused, "the system refuses a thread");
  }
  if (report != nullptr) {
    *report = started ? "memory pressure is watched in " + watched : "memory pressure cannot be watched";
    if (!refused.empty()) *report += (started ? "; not in " : ": ") + refused;
  }
  if (!started) return nullptr;
  return std::unique_ptr<PressureMonitor>(new PressureMonitor(state));
}

PressureMonitor::PressureMonitor(std::shared_ptr<State> state) : state_(std::move(state)) {}
PressureMonitor::~PressureMonitor() { Stop(); }

void PressureMonitor::Stop() {
  // The child of a fork has neither the thread nor an event of its own to send.
  if (getpid() != state_->process) {
    state_->thread.Forget();
    return;
  }
  if (state_->stopped.exchange(true, std::memory_order_relaxed)) return;
  eventfd_write(state_->stop_fd.get(), 1);
  state_->thread.Join();
}

uint64_t PressureMonitor::event_count() const { return state_->event_count.load(std::memory_order_relaxed); }
uint64_t PressureMonitor::call_count() const { return state_->call_count.load(std::memory_order_acquire); }
size_t PressureMonitor::watched_count() const { return state_->watched_count.load(std::memory_order_relaxed); }

void PressureMonitor::State::Run() {
  while (!stopped.load(std::memory_order_relaxed)) Watch();
}

// Waits for one round of news. A file that has gone is watched no more.
void PressureMonitor::State::Watch() {
  std::vector<pollfd> polled = {{stop_fd.get(), POLLIN, 0}, {limits.fd(), POLLIN, 0}};  // poll passes -1 over
  for (const PressureTrigger& trigger : triggers) polled.push_back({trigger.fd.get(), trigger.events, 0});
  if (poll(polled.data(), polled.size(), -1) <= 0) return;

  bool is_event = false;
  if (polled[1].revents != 0) {
    bool gone = (polled[1].revents & (POLLERR | POLLNVAL)) != 0;
    is_event |= limits.Grew(&gone);
    if (gone) limits = LimitEvents();
  }
  std::vector<PressureTrigger> left;
  for (size_t i = 0; i < triggers.size(); ++i) {
    const TriggerNews news = ReadTrigger(triggers[i], polled[i + 2].revents);
    is_event |= news == TriggerNews::kEvent;
    if (news != TriggerNews::kGone) left.push_back(std::move(triggers[i]));
  }
  triggers = std::move(left);
  CountWatched();
  if (is_event) OnEvent();
}

void PressureMonitor::State::OnEvent() {
  const bool answer = episode.Answer(clock_ns());
  event_count.fetch_add(1, std::memory_order_relaxed);
  if (!answer || stopped.load(std::memory_order_relaxed)) return;
  on_pressure();
  call_count.fetch_add(1, std::memory_order_release);
}

}  // namespace strongbin
