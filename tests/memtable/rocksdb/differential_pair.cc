#include "strongbin/tests/memtable/rocksdb/differential_pair.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>
#include <utility>

#include <rocksdb/convenience.h>

#include "strongbin/memtable/rocksdb/rep_factory.h"
#include "strongbin/memtable/rocksdb/rep_stats.h"
#include "strongbin/stats/snapshot.h"

namespace strongbin::differential {

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

// The memtables under test were ours, and with the databases all of them and all their memory are gone.
std::string DescribeWrongMemtables() {
  const ProcessStats stats = Stats();
  const uint64_t lent_bytes = SumOfLabels(stats.pool.lent_bytes);
  if (stats.rocksdb.made_memtables > 0 && stats.rocksdb.fallback_memtables == 0 && stats.rocksdb.memtables == 0 &&
      lent_bytes == 0) {
    return "";
  }
  return std::to_string(stats.rocksdb.made_memtables) + " memtables were made and " +
         std::to_string(stats.rocksdb.fallback_memtables) + " skip lists in their place; with the databases closed " +
         std::to_string(stats.rocksdb.memtables) + " memtables and " + std::to_string(lent_bytes) + " bytes are left\n";
}

std::shared_ptr<rdb::MemTableRepFactory> MakeFactory(const std::string& name) {
  std::shared_ptr<rdb::MemTableRepFactory> factory;
  rdb::ConfigOptions options;
  options.ignore_unsupported_options = false;
  const rdb::Status status = rdb::MemTableRepFactory::CreateFromString(options, name, &factory);
  if (!status.ok()) {
    std::fprintf(stderr, "memtable factory %s: %s\n", name.c_str(), status.ToString().c_str());
    std::exit(EXIT_FAILURE);
  }
  return factory;
}

}  // namespace

Pair::Pair(const Round& round, const FactoryNames& factories, const std::string& directory, Progress* progress)
    : round_(round),
      progress_(progress),
      factories_{MakeFactory(AsFactoryText(round.config, factories.expected)),
                 MakeFactory(AsFactoryText(round.config, factories.actual))},
      checks_memtables_(factories.actual == kRocksDBFactoryName),
      sides_{Side(round.config, directory + "expected"), Side(round.config, directory + "actual")} {}

bool Pair::Fail(std::string report) {
  report_ = std::move(report);
  return false;
}

std::string Pair::Run() {
  const bool was_killed = progress_->kill_is_coming.exchange(0) != 0;
  if (!Open()) return report_;
  if (progress_->is_finished != 0) return "";
  if (was_killed && !ResolveInterruptedWrite()) return report_;
  const Operation compare_all{.kind = OpKind::kCompareAll};
  if (was_killed && !ExecuteOnBoth(compare_all, 0)) return "after a kill\n" + report_;
  while (progress_->done_count < round_.operations.size()) {
    const uint64_t index = progress_->done_count;
    if (!Step(index)) {
      return "at operation " + std::to_string(index) + ": " + Format(round_.operations[index]) + report_;
    }
    progress_->done_count = index + 1;
  }
  if (progress_->kill_is_coming != 0) WaitForTheKill();
  if (!ExecuteOnBoth(compare_all, 0)) return "at the end of the round\n" + report_;
  for (Side& side : sides_) side.Close();
  progress_->is_finished = 1;
  return checks_memtables_ ? DescribeWrongMemtables() : "";
}

bool Pair::Open() {
  const bool swapped = progress_->is_swapped != 0;
  const rdb::Status expected = sides_[0].Open(factories_[swapped ? 1 : 0]);
  const rdb::Status actual = sides_[1].Open(factories_[swapped ? 0 : 1]);
  if (expected.ok() && actual.ok()) return true;
  // Options that RocksDB refuses are refused with both.
  const bool first = progress_->done_count == 0;
  if (first && DescribeStatus(expected) == DescribeStatus(actual)) {
    progress_->is_finished = 1;
    return true;
  }
  return Fail("open: expected " + expected.ToString() + ", actual " + actual.ToString() + "\n");
}

// The operation in progress may have reached one database, both or none. A write that only one has is done by the other
// too; a write that both have is not done again.
bool Pair::ResolveInterruptedWrite() {
  const uint64_t index = progress_->done_count;
  const uint64_t interrupted = index + 1;
  std::array<bool, 2> has_it;
  for (size_t side = 0; side < 2; ++side) {
    const uint64_t marker = sides_[side].LastMarker();
    has_it[side] = marker == interrupted;
    if (!has_it[side] && marker != progress_->last_marker) {
      return Fail("after a kill the " + std::string(side == 0 ? "expected" : "actual") + " database ends with write " +
                  std::to_string(marker) + ", acknowledged was write " + std::to_string(progress_->last_marker) + "\n");
    }
  }
  if (!has_it[0] && !has_it[1]) return true;
  for (size_t side = 0; side < 2; ++side) {
    Trace trace;
    if (!has_it[side]) sides_[side].Execute(round_.operations[index], interrupted, &trace);
  }
  progress_->last_marker = interrupted;
  progress_->done_count = interrupted;
  return true;
}

bool Pair::Step(size_t index) {
  const Operation& operation = round_.operations[index];
  const bool kill_is_coming = progress_->kill_is_coming != 0;
  switch (operation.kind) {
    case OpKind::kReopen:
      return Reopen(operation);
    case OpKind::kKill:
      if (kill_is_coming) return true;
      progress_->kill_is_coming = 1;
      progress_->done_count = index + 1;  // so that this operation is not the next process's first
      std::thread([delay = std::chrono::microseconds(operation.delay_us)] {
        std::this_thread::sleep_for(delay);
        kill(getpid(), SIGKILL);
      }).detach();
      return true;
    case OpKind::kThreads:
      // Several writes in progress could not be resolved.
      if (kill_is_coming) WaitForTheKill();
      return ExecuteOnBoth(operation, 0);
    default:
      break;
  }
  const uint64_t marker = kill_is_coming && IsWrite(operation.kind) ? index + 1 : 0;
  if (!ExecuteOnBoth(operation, marker)) return false;
  if (marker != 0) progress_->last_marker = marker;
  return true;
}

bool Pair::Reopen(const Operation& operation) {
  for (Side& side : sides_) side.Close();
  if (operation.option == 1) progress_->is_swapped = 1 - progress_->is_swapped;
  return Open() && ExecuteOnBoth({.kind = OpKind::kCompareAll}, 0);
}

bool Pair::ExecuteOnBoth(const Operation& operation, uint64_t marker) {
  for (size_t side = 0; side < 2; ++side) {
    traces_[side].Clear();
    sides_[side].Execute(operation, marker, &traces_[side]);
  }
  const std::optional<std::string> difference = FirstDifference(traces_[0], traces_[1]);
  if (!difference) return true;
  return Fail((progress_->is_swapped != 0 ? "(each factory has the other's database)\n" : "") + *difference);
}

void Pair::WaitForTheKill() {
  for (;;) pause();
}

}  // namespace strongbin::differential
