#include "strongbin/tools/dbbench/runner.h"

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace strongbin::dbbench {
namespace {

// A map behind one lock, that can be told to fail or to wait for the stop.
class MapEngine final : public Engine {
 public:
  bool Open(const RoundPlan&) override { return true; }
  void Admit(size_t) override { ++admitted; }
  bool Write(size_t, const Batch& batch) override {
    std::lock_guard lock(mutex);
    if (batches_until_failure-- == 0) return Fail("told to");
    threads.insert(std::this_thread::get_id());
    for (size_t i = 0; i < batch.count; ++i) map[std::string(batch.Key(i))] = std::string(batch.Value(i));
    return true;
  }
  bool Get(size_t, std::string_view key, std::string_view* value) override {
    std::lock_guard lock(mutex);
    const auto place = map.find(std::string(key));
    if (place == map.end()) return false;
    *value = place->second;
    return true;
  }
  bool OpenScan(size_t worker, std::string_view start, std::string_view end) override {
    std::lock_guard lock(mutex);
    scans[worker] = map.lower_bound(std::string(start));
    ends[worker] = end.empty() ? map.end() : map.lower_bound(std::string(end));
    return true;
  }
  uint64_t AdvanceScan(size_t worker, uint64_t count, ContentSum* sum) override {
    std::lock_guard lock(mutex);
    uint64_t read = 0;
    for (; read < count && scans[worker] != ends[worker]; ++read, ++scans[worker]) {
      sum->Add(scans[worker]->first, scans[worker]->second);
    }
    return read;
  }
  void CloseScan(size_t) override {}
  bool FinishWrites() override { return true; }
  bool Close() override { return true; }
  void Checkpoint() override {}
  EngineNumbers Numbers() override { return {}; }
  std::string Description() const override { return "a map"; }

  using Map = std::map<std::string, std::string>;
  std::mutex mutex;
  Map map;
  std::map<size_t, Map::iterator> scans;
  std::map<size_t, Map::iterator> ends;
  std::set<std::thread::id> threads;
  std::atomic<int> admitted{0};
  int batches_until_failure = -1;
};

class RunnerTest : public ::testing::Test {
 protected:
  static Config MakeConfig() {
    Config config;
    config.keys = config.reads = 1000;
    config.key_bytes = 16;
    config.value_bytes = 32;
    config.seed = 3;
    config.progress = false;
    return config;
  }

  RunPlan Plan(TestKind test, size_t batch_entries, size_t threads, bool load = false) {
    RunPlan plan;
    plan.config = &config_;
    plan.data = &data_;
    plan.engine = &engine_;
    plan.shape = {test, load, 1000, batch_entries, threads, 3};
    return plan;
  }

  const Config config_ = MakeConfig();
  const DataSet data_{config_, TestKind::kReadRandom};
  MapEngine engine_;
};

TEST_F(RunnerTest, WritesTheTotalWhateverTheThreads) {
  for (const size_t threads : {size_t{1}, size_t{3}, size_t{8}}) {
    engine_.map.clear();
    engine_.threads.clear();
    engine_.admitted = 0;
    const auto result = RunWork(Plan(TestKind::kWriteRandom, 10, threads));
    EXPECT_TRUE(result->finished);
    EXPECT_EQ(result->operations, 1000u);
    EXPECT_EQ(result->written_entries, 1000u);
    EXPECT_EQ(result->distinct_keys, 1000u);
    EXPECT_EQ(engine_.map.size(), 1000u);
    EXPECT_EQ(engine_.threads.size(), threads);
    EXPECT_EQ(engine_.admitted, 100);
    EXPECT_EQ(result->service.count(), 100u);
    EXPECT_EQ(result->intended.count(), 0u);
    EXPECT_GT(result->elapsed_ns, 0u);
  }
}

TEST_F(RunnerTest, ReadsFindTheLoadedKeysAndSumTheirContent) {
  ASSERT_TRUE(RunWork(Plan(TestKind::kReadRandom, 10, 2, true))->finished);
  const auto alone = RunWork(Plan(TestKind::kReadRandom, 10, 1));
  EXPECT_EQ(alone->asked, 1000u);
  EXPECT_EQ(alone->found, 1000u);
  EXPECT_EQ(alone->read.entries, 1000u);
  const auto together = RunWork(Plan(TestKind::kReadRandom, 10, 4));
  EXPECT_EQ(together->read.hash_sum, alone->read.hash_sum);
  EXPECT_EQ(together->distinct_keys, alone->distinct_keys);
}

TEST_F(RunnerTest, MissesAreAskedAndNotFound) {
  const auto result = RunWork(Plan(TestKind::kReadRandom, 10, 1));
  EXPECT_EQ(result->asked, 1000u);
  EXPECT_EQ(result->found, 0u);
  EXPECT_TRUE(result->finished);
}

TEST_F(RunnerTest, SequentialReadersShareTheRangeAndReadEachEntryOnce) {
  ASSERT_TRUE(RunWork(Plan(TestKind::kReadSequential, 10, 1, true))->finished);
  ContentSum all;
  for (const auto& [key, value] : engine_.map) all.Add(key, value);
  for (const size_t threads : {size_t{1}, size_t{2}, size_t{5}}) {
    const auto result = RunWork(Plan(TestKind::kReadSequential, 7, threads));
    EXPECT_TRUE(result->finished) << threads;
    EXPECT_EQ(result->read.hash_sum, all.hash_sum);
    EXPECT_EQ(result->operations, 1000u);
  }
}

TEST_F(RunnerTest, ScansReadTheStatedNumberOfEntries) {
  ASSERT_TRUE(RunWork(Plan(TestKind::kSeekRandom, 10, 1, true))->finished);
  const auto result = RunWork(Plan(TestKind::kSeekRandom, 10, 1));
  EXPECT_EQ(result->found, 1000u);
  EXPECT_LE(result->read.entries, 1000 * kScanEntries);
  EXPECT_GT(result->read.entries, 900 * kScanEntries);
}

TEST_F(RunnerTest, MixedSumsAreTheSameEveryTime) {
  ASSERT_TRUE(RunWork(Plan(TestKind::kMixed, 10, 1, true))->finished);
  const auto first = RunWork(Plan(TestKind::kMixed, 10, 4));
  const auto second = RunWork(Plan(TestKind::kMixed, 10, 4));
  const auto third = RunWork(Plan(TestKind::kMixed, 10, 4));
  EXPECT_EQ(first->operations, 1000u);
  EXPECT_GT(first->written_entries, 100u);
  // The first run reads loaded values; later ones read what the same writes left before them.
  EXPECT_EQ(second->read.hash_sum, third->read.hash_sum);
}

TEST_F(RunnerTest, OpenLoopRecordsBothLatenciesUnderTheirNames) {
  RunPlan plan = Plan(TestKind::kWriteRandom, 10, 2);
  plan.rate_per_second = 1e6;
  const auto result = RunWork(plan);
  EXPECT_EQ(result->operations, 1000u);
  EXPECT_EQ(result->service.count(), 100u);
  EXPECT_EQ(result->intended.count(), 100u);
  EXPECT_GE(result->intended.max_ns(), result->service.Quantile(0.5));
}

TEST_F(RunnerTest, WithoutHistogramNoLatencyIsRecorded) {
  RunPlan plan = Plan(TestKind::kWriteRandom, 10, 1);
  plan.histogram = false;
  EXPECT_EQ(RunWork(plan)->service.count(), 0u);
}

TEST_F(RunnerTest, AFailureEndsTheRunAndCountsWhatWasDone) {
  engine_.batches_until_failure = 5;
  const auto result = RunWork(Plan(TestKind::kWriteRandom, 10, 1));
  EXPECT_FALSE(result->finished);
  EXPECT_EQ(result->operations, 50u);
  EXPECT_EQ(result->distinct_keys, 50u);
  EXPECT_EQ(engine_.error(), "told to");
}

TEST_F(RunnerTest, TheDeadlineEndsARunThatCouldNotEnd) {
  RunPlan plan = Plan(TestKind::kWriteRandom, 10, 2);
  plan.rate_per_second = 1;  // would take a quarter of an hour
  plan.deadline_ns = NowNs() + 50'000'000;
  const auto result = RunWork(plan);
  EXPECT_FALSE(result->finished);
  EXPECT_TRUE(result->stopped);
  EXPECT_LT(result->operations, 1000u);
}

TEST_F(RunnerTest, AllocationsOfWorkersAreCounted) {
  if (!AllocationsAreCounted()) GTEST_SKIP() << "a sanitizer brings its own allocator";
  const AllocationCount before = ThreadAllocations();
  auto block = std::make_unique<char[]>(1000);
  asm volatile("" : : "r"(block.get()) : "memory");  // keeps the allocation
  EXPECT_EQ(ThreadAllocations().calls - before.calls, 1u);
  EXPECT_EQ(ThreadAllocations().bytes - before.bytes, 1000u);
  EXPECT_GE(RunWork(Plan(TestKind::kWriteRandom, 10, 2))->allocations.calls, 1000u);  // a map node for each key
}

}  // namespace
}  // namespace strongbin::dbbench
