// Runs one piece of work on one engine with some threads, and measures it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "strongbin/tools/dbbench/alloc_counter.h"
#include "strongbin/tools/dbbench/content.h"
#include "strongbin/tools/dbbench/engine.h"
#include "strongbin/tools/dbbench/latency_histogram.h"
#include "strongbin/tools/dbbench/measure.h"
#include "strongbin/tools/dbbench/monitor.h"
#include "strongbin/tools/dbbench/workload.h"

namespace strongbin::dbbench {

struct RunPlan {
  const Config* config = nullptr;
  const DataSet* data = nullptr;
  Engine* engine = nullptr;
  WorkShape shape;
  std::string title;
  uint64_t deadline_ns = 0;    // 0: none
  bool histogram = true;       // look at the clock around each batch
  double rate_per_second = 0;  // operations; 0: closed loop
  double slowdown = 0;         // share of its rate that each thread loses by waiting behind each batch
  uint64_t pause_ms = 0;       // the first thread stops that long in the middle of its work
};

struct RunResult {
  bool finished = false;  // all that was planned was done
  bool stopped = false;   // ended by Ctrl-C or the deadline
  uint64_t operations = 0;
  uint64_t distinct_keys = 0;
  uint64_t written_entries = 0;
  uint64_t asked = 0;  // point reads and seeks
  uint64_t found = 0;
  ContentSum read;
  uint64_t elapsed_ns = 0;  // from the first thread's start to the last one's end
  AllocationCount allocations;
  ProcessSample before;
  ProcessSample after;
  std::vector<TimePoint> timeline;
  LatencyHistogram service;   // from the moment a batch was given to the engine
  LatencyHistogram intended;  // from the moment it should have been; open loop only
};

// All keys are made and all threads are ready before the first clock starts; statistics are each thread's own until it
// has been joined. The engine must be open.
std::unique_ptr<RunResult> RunWork(const RunPlan& plan);

}  // namespace strongbin::dbbench
