#include "strongbin/tools/dbbench/runner.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>

namespace strongbin::dbbench {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;

// One thread's part of a run.
class Worker {
 public:
  Worker(const RunPlan& plan, size_t number, const StopFlag& flag, DoneCounter* done)
      : plan_(plan), engine_(*plan.engine), number_(number), flag_(flag), done_(*done) {}

  void Prepare() { script_.emplace(*plan_.data, plan_.shape, number_); }
  void Work();
  void AddTo(RunResult* result, uint64_t* first_start_ns, uint64_t* last_end_ns) const;
  void MarkKeys(std::vector<bool>* seen) const { script_->MarkKeys(operations_, seen); }

 private:
  bool AwaitTurn(uint64_t intended_ns) const;
  void SpinUntilSlower(uint64_t begin_ns) const;
  uint64_t RunBatch(const Batch& batch);
  bool RunOne(OperationKind kind, const Batch& batch, size_t i);
  bool Read(std::string_view key);
  bool Scan(std::string_view key);
  uint64_t ReadOn(uint64_t count);

  const RunPlan& plan_;
  Engine& engine_;
  const size_t number_;
  const StopFlag& flag_;
  DoneCounter& done_;
  std::optional<Script> script_;
  uint64_t start_ns_ = 0;
  uint64_t end_ns_ = 0;
  uint64_t operations_ = 0;
  uint64_t written_ = 0;
  uint64_t asked_ = 0;
  uint64_t found_ = 0;
  ContentSum read_;
  AllocationCount allocations_;
  LatencyHistogram service_;
  LatencyHistogram intended_;
};

// False when the run was stopped meanwhile.
bool Worker::AwaitTurn(uint64_t intended_ns) const {
  constexpr uint64_t kSliceNs = 50 * kNsPerMs;
  for (uint64_t now_ns = NowNs(); now_ns + kSliceNs < intended_ns; now_ns = NowNs()) {
    if (flag_.Stopped()) return false;
    WaitUntilNs(now_ns + kSliceNs);
  }
  WaitUntilNs(intended_ns);
  return !flag_.Stopped();
}

void Worker::Work() {
  const bool open_loop = plan_.rate_per_second > 0;
  const bool timed = plan_.histogram || open_loop || plan_.slowdown > 0;
  const bool sequential = !plan_.shape.load && plan_.shape.test == TestKind::kReadSequential;
  std::string scan_start;
  std::string scan_end;
  if (sequential) {
    if (number_ > 0) scan_start = plan_.data->Boundary(number_, plan_.shape.threads);
    if (number_ + 1 < plan_.shape.threads) scan_end = plan_.data->Boundary(number_ + 1, plan_.shape.threads);
  }
  // Threads share the range of keys, not their count, when they read all of it.
  const bool whole_range = sequential && plan_.shape.operations >= plan_.data->key_count();
  const size_t batches = whole_range ? std::numeric_limits<size_t>::max() : script_->batch_count();
  const size_t pause_at =
      number_ == 0 && plan_.pause_ms > 0 ? script_->batch_count() / 2 : std::numeric_limits<size_t>::max();
  const double interval_ns =
      open_loop ? 1e9 * static_cast<double>(plan_.shape.batch_entries) / plan_.rate_per_second : 0;

  const AllocationCount allocations = ThreadAllocations();
  start_ns_ = NowNs();
  if (sequential) engine_.OpenScan(number_, scan_start, scan_end);
  for (size_t b = 0; b < batches && !flag_.Stopped() && !engine_.failed(); ++b) {
    Batch batch;
    if (whole_range) {
      batch.kind = OperationKind::kNext;
      batch.count = plan_.shape.batch_entries;
    } else {
      batch = script_->At(b);
    }
    engine_.Admit(number_);
    uint64_t intended_ns = 0;
    if (open_loop) {
      intended_ns = start_ns_ + static_cast<uint64_t>(static_cast<double>(script_->GlobalBatch(b)) * interval_ns);
      if (!AwaitTurn(intended_ns)) break;
    }
    const uint64_t begin_ns = timed ? NowNs() : 0;
    if (b == pause_at) std::this_thread::sleep_for(std::chrono::milliseconds(plan_.pause_ms));
    const uint64_t done = RunBatch(batch);
    if (plan_.slowdown > 0) SpinUntilSlower(begin_ns);
    if (timed && done == batch.count) {
      const uint64_t now_ns = NowNs();
      service_.Record(now_ns - begin_ns);
      if (open_loop) intended_.Record(now_ns - intended_ns);
    }
    operations_ += done;
    done_.Set(operations_);
    if (done < batch.count) break;
  }
  if (sequential) engine_.CloseScan(number_);
  end_ns_ = NowNs();
  const AllocationCount now = ThreadAllocations();
  allocations_ = {now.calls - allocations.calls, now.bytes - allocations.bytes};
}

// Makes what began then last longer, so that the rate falls by the share that was asked for.
void Worker::SpinUntilSlower(uint64_t begin_ns) const {
  const auto took_ns = static_cast<double>(NowNs() - begin_ns);
  const uint64_t end_ns = begin_ns + static_cast<uint64_t>(took_ns / (1 - plan_.slowdown));
  while (NowNs() < end_ns) {
  }
}

uint64_t Worker::RunBatch(const Batch& batch) {
  if (batch.kinds != nullptr) {
    size_t i = 0;
    while (i < batch.count && !flag_.Stopped() && RunOne(batch.kinds[i], batch, i)) ++i;
    return i;
  }
  switch (batch.kind) {
    case OperationKind::kWrite:
      if (!engine_.Write(number_, batch)) return 0;
      written_ += batch.count;
      return batch.count;
    case OperationKind::kNext:
      return ReadOn(batch.count);
    case OperationKind::kGet:
    case OperationKind::kScan:
      break;
  }
  size_t i = 0;
  while (i < batch.count && !flag_.Stopped() && RunOne(batch.kind, batch, i)) ++i;
  return i;
}

bool Worker::RunOne(OperationKind kind, const Batch& batch, size_t i) {
  if (kind == OperationKind::kGet) return Read(batch.Key(i));
  if (kind == OperationKind::kScan) return Scan(batch.Key(i));
  Batch one = batch;
  one.keys = batch.Key(i).data();
  one.kinds = nullptr;
  one.count = 1;
  one.first_version = batch.first_version + i;
  if (!engine_.Write(number_, one)) return false;
  ++written_;
  return true;
}

bool Worker::Read(std::string_view key) {
  ++asked_;
  std::string_view value;
  if (!engine_.Get(number_, key, &value)) return !engine_.failed();
  ++found_;
  read_.Add(key, value);
  return true;
}

bool Worker::Scan(std::string_view key) {
  ++asked_;
  if (!engine_.OpenScan(number_, key, {})) return false;
  ContentSum scanned;
  if (engine_.AdvanceScan(number_, kScanEntries, &scanned) > 0) ++found_;
  engine_.CloseScan(number_);
  // Beside writes of other threads only the number of entries is the same every time, not their values.
  if (plan_.shape.test == TestKind::kMixed && plan_.shape.threads > 1) scanned.hash_sum = 0;
  read_.Add(scanned);
  return !engine_.failed();
}

uint64_t Worker::ReadOn(uint64_t count) { return engine_.AdvanceScan(number_, count, &read_); }

void Worker::AddTo(RunResult* result, uint64_t* first_start_ns, uint64_t* last_end_ns) const {
  *first_start_ns = std::min(*first_start_ns, start_ns_);
  *last_end_ns = std::max(*last_end_ns, end_ns_);
  result->operations += operations_;
  result->written_entries += written_;
  result->asked += asked_;
  result->found += found_;
  result->read.Add(read_);
  result->allocations.calls += allocations_.calls;
  result->allocations.bytes += allocations_.bytes;
  result->service.Merge(service_);
  result->intended.Merge(intended_);
}

}  // namespace

std::unique_ptr<RunResult> RunWork(const RunPlan& plan) {
  const size_t threads = plan.shape.threads;
  auto result = std::make_unique<RunResult>();
  StopFlag flag;
  std::vector<DoneCounter> done(threads);
  std::vector<std::unique_ptr<Worker>> workers;
  for (size_t i = 0; i < threads; ++i) workers.push_back(std::make_unique<Worker>(plan, i, flag, &done[i]));

  std::barrier<> barrier(static_cast<std::ptrdiff_t>(threads + 1));
  std::vector<std::thread> running;
  for (const auto& worker : workers) {
    running.emplace_back([&barrier, &worker] {
      worker->Prepare();
      barrier.arrive_and_wait();
      barrier.arrive_and_wait();
      worker->Work();
    });
  }
  barrier.arrive_and_wait();
  {
    const Watch watch(*plan.config,
                      {plan.title, plan.shape.operations, plan.deadline_ns, plan.engine, &result->timeline}, done,
                      &flag);
    result->before = SampleProcess();
    barrier.arrive_and_wait();
    for (std::thread& thread : running) thread.join();
    result->after = SampleProcess();
  }

  uint64_t first_start_ns = std::numeric_limits<uint64_t>::max();
  uint64_t last_end_ns = 0;
  std::vector<bool> seen(plan.data->key_count());
  for (const auto& worker : workers) {
    worker->AddTo(result.get(), &first_start_ns, &last_end_ns);
    worker->MarkKeys(&seen);
  }
  result->elapsed_ns = last_end_ns - first_start_ns;
  const bool sequential = !plan.shape.load && plan.shape.test == TestKind::kReadSequential;
  result->distinct_keys =
      sequential ? result->operations : static_cast<uint64_t>(std::count(seen.begin(), seen.end(), true));
  result->finished = result->operations == plan.shape.operations;
  result->stopped = flag.Stopped();
  return result;
}

}  // namespace strongbin::dbbench
