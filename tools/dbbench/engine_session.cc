#include "strongbin/tools/dbbench/engine_session.h"

#include <algorithm>
#include <malloc.h>
#include <string>
#include <utility>

#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/monitor.h"
#include "strongbin/tools/dbbench/profile.h"

namespace strongbin::dbbench {

EngineSession::EngineSession(const Config& config, const std::string& name, const std::string& directory,
                             Report* report)
    : config_(config), name_(name), report_(*report), engine_(MakeEngine(name, config, directory)) {}

uint64_t EngineSession::Deadline() const {
  return config_.max_seconds > 0 ? NowNs() + static_cast<uint64_t>(config_.max_seconds * 1e9) : 0;
}

WorkShape EngineSession::Shape(bool single) const {
  WorkShape shape;
  shape.test = test_;
  shape.operations = OperationsOf(config_, test_);
  if (single) shape.operations = std::min(shape.operations, config_.latency_ops);
  shape.batch_entries = single ? 1 : config_.batch_entries;
  shape.threads = config_.threads;
  shape.seed = config_.seed;
  return shape;
}

Row EngineSession::NewRow(const Timing& timing) const {
  Row row;
  row.engine = name_;
  row.test = TestName(test_);
  row.round = timing.round;
  row.timing = timing.single ? "single" : "batch of " + Grouped(uint64_t{config_.batch_entries});
  row.loop = config_.rate_per_second > 0 ? "open" : "closed";
  row.planned_operations = Shape(timing.single).operations;
  return row;
}

void EngineSession::RunAll() {
  for (size_t i = 0; i < config_.tests.size() && !Interrupted(); ++i) {
    test_ = config_.tests[i];
    if (engine_->failed()) {
      Row row = NewRow({"-", false});
      row.note = "not run: the engine failed before: " + engine_->error();
      AddRow(std::move(row));
      continue;
    }
    if (i > 0 && config_.checkpoint_between_tests) {
      engine_->Checkpoint();
      malloc_trim(0);
      cold_ = true;
    }
    TestProfile profile(config_, name_, std::string(TestName(test_)));
    if (WritesOnly(test_)) {
      RunWriteTest(test_);
    } else {
      RunReadTest(test_);
    }
    if (std::string note = profile.Finish(); !note.empty()) report_.notes.push_back(std::move(note));
  }
  report_.engines.emplace_back(name_, engine_->Description());
  if (std::string text = engine_->PoolText(); !text.empty()) {
    report_.pools.push_back({name_, std::move(text), engine_->PoolJson()});
  }
}

void EngineSession::RunWriteTest(TestKind test) {
  const DataSet data(config_, test);
  std::string round;
  for (uint64_t i = 1; i <= config_.generations && !Interrupted() && !engine_->failed(); ++i) {
    round = std::to_string(i) + (cold_ ? " cold" : " warm");
    RunWriteRound(data, {round, false});
    cold_ = false;
  }
  if (WantsSingle() && !Interrupted() && !engine_->failed()) {
    RunWriteRound(data, {std::to_string(config_.generations + 1) + " warm", true});
  }
}

void EngineSession::RunWriteRound(const DataSet& data, const Timing& timing) {
  Row row = NewRow(timing);
  const bool loads = StartsLoaded(test_);
  Ledger ledger(data, loads);
  const uint64_t deadline_ns = Deadline();
  const uint64_t entries = row.planned_operations + (loads ? data.key_count() : 0);
  if (engine_->Open({&data, &ledger, false, entries, config_.threads}) &&
      (!loads || Load(data, Title(row), deadline_ns, &row))) {
    const EngineNumbers before = engine_->Numbers();
    const auto result = RunTimed(data, timing, deadline_ns, &row);
    if (!engine_->failed() && engine_->FinishWrites()) {
      EngineNumbers numbers = engine_->Numbers();
      numbers.paused_ns -= before.paused_ns;
      numbers.drain_ns -= before.drain_ns;
      numbers.drain_faults -= before.drain_faults;
      FillRow(*result, numbers, &row);
      const ContentSum drained = ledger.Total();
      const uint64_t expected = loads ? data.key_count() : row.distinct_keys;
      if (KeepsContent()) {
        row.drained_keys = drained.entries;
        row.checksum = drained.hash_sum;
      }
      if (KeepsContent() && drained.entries != expected) {
        row.note = "CONTENT DIFFERS: " + Grouped(drained.entries) + " keys drained of " + Grouped(expected);
        row.finished = false;
        report_.agreed = false;
      }
    }
  }
  engine_->Close();
  Explain(&row);
  AddRow(std::move(row));
}

void EngineSession::RunReadTest(TestKind test) {
  const DataSet data(config_, test);
  const Timing throughput = {cold_ ? "1 cold" : "1 warm", false};
  Row row = NewRow(throughput);
  const uint64_t deadline_ns = Deadline();
  const uint64_t writes = test == TestKind::kMixed ? 2 * OperationsOf(config_, test) : 0;
  if (!engine_->Open({&data, nullptr, true, data.key_count() + writes, config_.threads}) ||
      !Load(data, Title(row), deadline_ns, &row)) {
    Explain(&row);
    AddRow(std::move(row));
    engine_->Close();
    return;
  }
  for (const bool single : {false, true}) {
    if (single) {
      if (!WantsSingle() || Interrupted() || engine_->failed() || !report_.rows.back().finished) break;
      row = NewRow({"2 warm", true});
    }
    const auto result = RunTimed(data, {row.round, single}, single ? Deadline() : deadline_ns, &row);
    FillRow(*result, engine_->Numbers(), &row);
    if (KeepsContent()) row.checksum = result->read.hash_sum;
    Explain(&row);
    AddRow(row);
  }
  engine_->Close();
  cold_ = false;
}

// Writes the data set outside every clock.
bool EngineSession::Load(const DataSet& data, const std::string& title, uint64_t deadline_ns, Row* row) {
  RunPlan plan;
  plan.config = &config_;
  plan.data = &data;
  plan.engine = engine_.get();
  plan.shape = Shape(false);
  plan.shape.load = true;
  plan.shape.operations = data.key_count();
  plan.title = title + ", loading";
  plan.deadline_ns = deadline_ns;
  plan.histogram = false;
  const auto result = RunWork(plan);
  if (!result->finished && !engine_->failed()) {
    row->note = "stopped while loading: " + Grouped(result->operations) + " of " + Grouped(data.key_count()) + " keys";
  }
  return result->finished;
}

std::unique_ptr<RunResult> EngineSession::RunTimed(const DataSet& data, const Timing& timing, uint64_t deadline_ns,
                                                   Row* row) {
  RunPlan plan;
  plan.config = &config_;
  plan.data = &data;
  plan.engine = engine_.get();
  plan.shape = Shape(timing.single);
  plan.title = Title(*row);
  plan.deadline_ns = deadline_ns;
  plan.histogram = config_.histogram;
  plan.rate_per_second = config_.rate_per_second;
  plan.pause_ms = config_.inject_pause_ms;
  plan.slowdown = config_.inject_slowdown;
  return RunWork(plan);
}

void EngineSession::FillRow(const RunResult& result, const EngineNumbers& numbers, Row* row) const {
  row->measured = true;
  row->finished = result.finished;
  row->operations = result.operations;
  row->distinct_keys = result.distinct_keys;
  row->bytes = (result.written_entries + result.read.entries) * (config_.key_bytes + config_.value_bytes);
  const double operations = static_cast<double>(result.operations);
  const uint64_t wall_ns = result.elapsed_ns - std::min(result.elapsed_ns, numbers.paused_ns);
  row->wall_seconds = static_cast<double>(wall_ns) / 1e9;
  if (wall_ns > 0) row->ops_per_second = operations / row->wall_seconds;
  if (result.operations > 0) {
    row->us_per_op = static_cast<double>(wall_ns) / 1e3 / operations;
    row->cpu_us_per_op = 1e6 * (result.after.cpu_seconds - result.before.cpu_seconds) / operations;
    if (AllocationsAreCounted()) {
      row->allocations_per_op = static_cast<double>(result.allocations.calls) / operations;
      row->allocated_bytes_per_op = static_cast<double>(result.allocations.bytes) / operations;
    }
  }
  if (WritesOnly(test_)) {
    row->drain_seconds = static_cast<double>(numbers.drain_ns) / 1e9;
    row->drain_faults = numbers.drain_faults;
    const double total_seconds = row->wall_seconds + *row->drain_seconds;
    // A loaded data set is drained too, so the sum would mix two kinds of work.
    if (!StartsLoaded(test_) && total_seconds > 0) row->total_ops_per_second = operations / total_seconds;
  } else {
    if (result.asked > 0) {
      row->asked = result.asked;
      row->found = result.found;
    }
  }
  if (!result.finished && !result.stopped && KeepsContent() && !engine_->failed()) {
    row->note = "CONTENT DIFFERS: only " + Grouped(result.operations) + " of " + Grouped(row->planned_operations) +
                " operations";
    report_.agreed = false;
  }
  if (result.service.count() > 0) {
    row->service = Summarize(result.service);
    row->service_curve = CurveOf(result.service);
  }
  row->timeline = result.timeline;
  if (result.intended.count() > 0) row->intended = Summarize(result.intended);
  if (numbers.table_bytes_per_entry > 0) row->table_bytes_per_entry = numbers.table_bytes_per_entry;
  if (numbers.tables > 0) row->tables = numbers.tables;
  row->minor_faults = result.after.minor_faults - result.before.minor_faults;
  row->resident_before_bytes = result.before.resident_bytes;
  row->resident_after_bytes = result.after.resident_bytes;
  row->pool = numbers.pool;
}

// Says why a row has not all that was planned.
void EngineSession::Explain(Row* row) const {
  if (engine_->failed()) {
    row->finished = false;
    row->note = "failed: " + engine_->error();
    report_.agreed = false;
  } else if (!row->finished && row->note.empty()) {
    row->note =
        Interrupted() ? "interrupted after " : "not finished within --max_seconds=" + Plain(config_.max_seconds) + ": ";
    row->note += Grouped(row->operations) + " of " + Grouped(row->planned_operations) + " operations";
  }
}

}  // namespace strongbin::dbbench
