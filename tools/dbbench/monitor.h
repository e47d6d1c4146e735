// Watches a run from outside: progress, time limit, Ctrl-C.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "strongbin/tools/dbbench/config.h"
#include "strongbin/tools/dbbench/measure.h"

namespace strongbin::dbbench {

class Engine;

// The first Ctrl-C asks for an orderly end, the second ends the process.
void InstallInterruptHandler();
// The exit status after the first.
inline constexpr int kInterruptedStatus = 130;
bool Interrupted();

// Set once per run; workers look at it between batches and between reads. Relaxed is enough: it carries no data.
struct StopFlag {
  std::atomic<bool> stop{false};
  bool Stopped() const { return stop.load(std::memory_order_relaxed); }
};

// Operations that one worker has done so far; on a cache line of its own.
struct alignas(64) DoneCounter {
  std::atomic<uint64_t> operations{0};
  void Set(uint64_t value) { operations.store(value, std::memory_order_relaxed); }  // a number to look at
};

struct WatchPlan {
  std::string title;
  uint64_t planned = 0;
  uint64_t deadline_ns = 0;  // 0: none
  const Engine* engine = nullptr;
  // If not null, gets a point at the start, every --timeline_ms and at the end; read it after that.
  std::vector<TimePoint>* timeline = nullptr;
};

// Runs a thread of its own from construction to destruction. It sets the flag on Ctrl-C and at the deadline, draws the
// progress line (only when standard error is a terminal and it is wanted) and writes the lines of --stats_interval.
class Watch {
 public:
  Watch(const Config& config, const WatchPlan& plan, const std::vector<DoneCounter>& done, StopFlag* flag);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void Loop();
  uint64_t Done() const;
  void DrawProgress(uint64_t now_ns);
  void WriteStats(uint64_t now_ns);
  void AddTimePoint(uint64_t now_ns);

  const Config& config_;
  const WatchPlan plan_;
  const std::vector<DoneCounter>& done_;
  StopFlag* const flag_;
  const bool draws_;
  const uint64_t start_ns_;
  uint64_t next_draw_ns_;
  uint64_t next_stats_ns_;
  uint64_t next_point_ns_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace strongbin::dbbench
