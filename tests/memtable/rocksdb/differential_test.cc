// Two databases, one with RocksDB's skip list and one with our memtable, are driven by the same random operations and
// must give the same answers. --steps=N --seed=S for another run, --replay=FILE for the operations that a failed run
// printed.
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/rocksdb/differential_arguments.h"
#include "strongbin/tests/memtable/rocksdb/differential_generator.h"
#include "strongbin/tests/memtable/rocksdb/differential_supervisor.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin::differential {
namespace {

constexpr uint64_t kRoundOperationCount = 1000;

// The operations of a failing round, as short as they get, to read and to replay.
std::string DescribeFailure(const Round& round, const Verdict& verdict) {
  const Arguments& arguments = GetArguments();
  const auto [shorter, again] = Shrink({round, verdict}, arguments.factories, arguments.shrink_run_limit);
  const std::string path = testing::TempDir() + "strongbin-differential-" + std::to_string(round.config.seed) + ".txt";
  const std::string text = Format(shorter);
  std::ofstream(path) << text;
  std::string report = "seed " + std::to_string(round.config.seed) + "\n" + verdict.difference;
  if (shorter == round) {
    report += "It did not get shorter than these ";
  } else {
    report += "Shorter, it fails so:\n" + again.difference + "with these ";
  }
  return report + std::to_string(CountOperations(shorter.operations)) + " operations (--replay=" + path + "):\n" + text;
}

Round ReadRound(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  Round round;
  std::string error;
  EXPECT_TRUE(Parse(text.str(), &round, &error)) << path << ": " << error;
  return round;
}

TEST(DifferentialTest, SameOperationsGiveSameAnswersAsTheSkipList) {
  const Arguments& arguments = GetArguments();
  if (!arguments.replay_file.empty()) {
    const Round round = ReadRound(arguments.replay_file);
    const Verdict verdict = RunRound(round, arguments.factories);
    ASSERT_TRUE(verdict.same()) << DescribeFailure(round, verdict);
    return;
  }
  const uint64_t step_count =
      arguments.step_count != 0 ? arguments.step_count : TestScale(Scaled(20'000, 4'000), Scaled(200'000, 50'000));
  std::array<uint64_t, kOpKindCount> counts{};
  uint64_t kill_count = 0;
  uint64_t steps_done = 0;
  for (uint64_t seed = arguments.seed; steps_done < step_count; ++seed) {
    std::printf("seed %ju, after %ju steps\n", uintmax_t{seed}, uintmax_t{steps_done});
    std::fflush(stdout);
    const Round round = GenerateRound(RandomConfig(seed, kRoundOperationCount));
    const Verdict verdict = RunRound(round, arguments.factories);
    ASSERT_TRUE(verdict.same()) << DescribeFailure(round, verdict);
    for (const Operation& operation : round.operations) ++counts[static_cast<size_t>(operation.kind)];
    steps_done += verdict.done_count;
    kill_count += verdict.kill_count;
  }
  std::printf("%ju steps, %ju kills;", uintmax_t{steps_done}, uintmax_t{kill_count});
  for (size_t kind = 0; kind < kOpKindCount; ++kind) {
    if (counts[kind] > 0) std::printf(" %s %ju", OpKindName(static_cast<OpKind>(kind)).data(), uintmax_t{counts[kind]});
  }
  std::printf("\n");
}

}  // namespace
}  // namespace strongbin::differential
