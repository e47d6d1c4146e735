#include "strongbin/tools/dbbench/monitor.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <unistd.h>

#include "strongbin/tools/dbbench/engine.h"
#include "strongbin/tools/dbbench/format.h"

namespace strongbin::dbbench {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kDrawNs = kNsPerSecond / 4;
constexpr std::chrono::milliseconds kLookInterval(20);

volatile std::sig_atomic_t interrupted = 0;
void OnInterrupt(int) { interrupted = 1; }

double Rate(uint64_t operations, uint64_t ns) {
  return ns == 0 ? 0 : static_cast<double>(operations) * static_cast<double>(kNsPerSecond) / static_cast<double>(ns);
}

}  // namespace

void InstallInterruptHandler() {
  struct sigaction action = {};
  action.sa_handler = &OnInterrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool Interrupted() { return interrupted != 0; }

Watch::Watch(const Config& config, const WatchPlan& plan, const std::vector<DoneCounter>& done, StopFlag* flag)
    : config_(config),
      plan_(plan),
      done_(done),
      flag_(flag),
      draws_(config.progress && isatty(STDERR_FILENO) == 1),
      start_ns_(NowNs()),
      next_draw_ns_(start_ns_ + kDrawNs),
      next_stats_ns_(start_ns_ +
                     static_cast<uint64_t>(config.stats_interval_seconds * static_cast<double>(kNsPerSecond))),
      next_point_ns_(start_ns_),
      thread_(&Watch::Loop, this) {}

Watch::~Watch() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (draws_) std::fputs("\r\033[K", stderr);
}

uint64_t Watch::Done() const {
  uint64_t sum = 0;
  for (const DoneCounter& counter : done_) sum += counter.operations.load(std::memory_order_relaxed);
  return sum;
}

void Watch::Loop() {
  const bool keeps_time = config_.timeline_ms > 0 && plan_.timeline != nullptr;
  const std::chrono::milliseconds interval =
      keeps_time ? std::min(kLookInterval, std::chrono::milliseconds(config_.timeline_ms)) : kLookInterval;
  if (keeps_time) AddTimePoint(start_ns_);
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval, [this] { return ending_; })) {
    const uint64_t now_ns = NowNs();
    if (Interrupted() || (plan_.deadline_ns != 0 && now_ns >= plan_.deadline_ns)) {
      flag_->stop.store(true, std::memory_order_relaxed);
    }
    if (keeps_time && now_ns >= next_point_ns_) AddTimePoint(now_ns);
    if (draws_ && now_ns >= next_draw_ns_) DrawProgress(now_ns);
    if (config_.stats_interval_seconds > 0 && now_ns >= next_stats_ns_) WriteStats(now_ns);
  }
  if (keeps_time) AddTimePoint(NowNs());
}

void Watch::AddTimePoint(uint64_t now_ns) {
  next_point_ns_ = now_ns + config_.timeline_ms * 1'000'000;
  TimePoint point;
  point.seconds = static_cast<double>(now_ns - start_ns_) / static_cast<double>(kNsPerSecond);
  point.operations = Done();
  point.resident_bytes = SampleProcess().resident_bytes;
  if (const auto pool = plan_.engine == nullptr ? std::nullopt : plan_.engine->ReadGauges()) {
    point.idle_bytes = pool->idle_bytes;
    point.lent_bytes = pool->lent_bytes;
  }
  plan_.timeline->push_back(point);
}

void Watch::DrawProgress(uint64_t now_ns) {
  next_draw_ns_ = now_ns + kDrawNs;
  const uint64_t done = Done();
  const double rate = Rate(done, now_ns - start_ns_);
  std::string line = "\r\033[K" + plan_.title + "  ";
  if (plan_.planned > 0) line += std::to_string(100 * done / plan_.planned) + " %, ";
  line += Grouped(rate, 0) + " op/s";
  if (rate > 0 && plan_.planned > done) {
    line += ", " + Grouped(static_cast<double>(plan_.planned - done) / rate, 0) + " s left";
  }
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

void Watch::WriteStats(uint64_t now_ns) {
  next_stats_ns_ += static_cast<uint64_t>(config_.stats_interval_seconds * static_cast<double>(kNsPerSecond));
  const uint64_t done = Done();
  const uint64_t elapsed_ns = now_ns - start_ns_;
  std::string line = (draws_ ? "\r\033[K" : "") + plan_.title + ": " + Duration(elapsed_ns) + ", " + Grouped(done) +
                     " operations, " + Grouped(Rate(done, elapsed_ns), 0) + " op/s, resident " +
                     Bytes(SampleProcess().resident_bytes);
  if (const auto pool = plan_.engine == nullptr ? std::nullopt : plan_.engine->ReadGauges()) {
    line += ", pool idle " + Bytes(pool->idle_bytes) + ", lent " + Bytes(pool->lent_bytes);
  }
  std::fputs((line + "\n").c_str(), stderr);
}

}  // namespace strongbin::dbbench
