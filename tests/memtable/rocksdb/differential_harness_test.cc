// The differential test itself: that it finds what is wrong, and that what it prints can be replayed.
#include <cstdint>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/rocksdb/differential_faults.h"
#include "strongbin/tests/memtable/rocksdb/differential_generator.h"
#include "strongbin/tests/memtable/rocksdb/differential_merge.h"
#include "strongbin/tests/memtable/rocksdb/differential_supervisor.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin::differential {
namespace {

constexpr uint64_t kOperationCount = 400;

Round RandomRound(uint64_t seed) { return GenerateRound(RandomConfig(seed, kOperationCount)); }

void CollectKinds(const std::vector<Operation>& operations, std::set<OpKind>* kinds) {
  for (const Operation& operation : operations) {
    kinds->insert(operation.kind);
    CollectKinds(operation.parts, kinds);
  }
}

TEST(RoundTextTest, RoundsAreReadBackAsTheyWerePrinted) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const Round round = RandomRound(seed);
    Round parsed;
    std::string error;
    ASSERT_TRUE(Parse(Format(round), &parsed, &error)) << error;
    ASSERT_EQ(parsed, round) << "seed " << seed;
  }
}

TEST(RoundTextTest, WrongLinesAreNamed) {
  for (const std::string line : {"putt key=a", "put", "put key=%4", "put key=a family=x", "get key=a colour=1",
                                 "config speed=1", "delete_range key=a", "  next"}) {
    Round round;
    std::string error;
    EXPECT_FALSE(Parse("config seed=1\n" + line + "\n", &round, &error)) << line;
    EXPECT_EQ(error, "line 2 is wrong: " + line);
  }
}

TEST(GeneratorTest, OneSeedGivesOneRoundAndAnotherSeedAnother) {
  EXPECT_EQ(RandomRound(7), RandomRound(7));
  EXPECT_NE(RandomRound(7).operations, RandomRound(8).operations);
}

TEST(GeneratorTest, EveryKindOfOperationIsGenerated) {
  std::set<OpKind> kinds;
  for (uint64_t seed = 1; seed <= 100; ++seed) CollectKinds(RandomRound(seed).operations, &kinds);
  for (size_t kind = 0; kind < kOpKindCount; ++kind) {
    EXPECT_TRUE(kinds.contains(static_cast<OpKind>(kind))) << OpKindName(static_cast<OpKind>(kind));
  }
}

TEST(GeneratorTest, UndefinedSingleDeletesAndRangesAreDropped) {
  const std::string single = {kSingleRegion, 'a'};
  const std::string behind = {kMarkerRegion};
  const Operation put{.kind = OpKind::kPut, .key = single};
  const Operation single_delete{.kind = OpKind::kSingleDelete, .key = single};
  const Operation merge{.kind = OpKind::kMerge, .key = single};
  const Operation single_delete_of_other{.kind = OpKind::kSingleDelete, .key = "a"};
  const Operation backward{.kind = OpKind::kDeleteRange, .key = "b", .end = "a"};
  const Operation forward{.kind = OpKind::kDeleteRange, .key = "a", .end = "b"};
  const Operation over_single_keys{.kind = OpKind::kDeleteRange, .key = "a", .end = behind};
  const Operation batch{.kind = OpKind::kBatch, .parts = {put, put, single_delete}};
  std::vector<Operation> operations = {single_delete, put,      put,     merge, single_delete_of_other, single_delete,
                                       single_delete, backward, forward, batch, over_single_keys};
  DropUndefined(&operations);
  const Operation kept_batch{.kind = OpKind::kBatch, .parts = {put, single_delete}};
  EXPECT_EQ(operations, (std::vector<Operation>{put, single_delete, forward, kept_batch}));
}

TEST(TraceTest, FirstDifferenceIsTheFirstLineThatIsNotTheSame) {
  Trace expected;
  Trace actual;
  for (Trace* trace : {&expected, &actual}) trace->AddEntry("seek", "a", "1");
  EXPECT_EQ(FirstDifference(expected, actual), std::nullopt);
  expected.AddValue("get", ROCKSDB_NAMESPACE::Status::OK(), "x");
  EXPECT_NE(FirstDifference(expected, actual).value().find("actual:   (nothing more)"), std::string::npos);
  actual.AddStatus("get", ROCKSDB_NAMESPACE::Status::NotFound());
  EXPECT_EQ(FirstDifference(expected, actual),
            "  both:     seek -> a = '1'\n  expected: get -> OK 'x'\n  actual:   get -> NotFound\n");
}

TEST(TraceTest, LongValuesThatDifferAreDescribedDifferently) {
  const std::string value(100'000, 'v');
  std::string other = value;
  other[50'000] = 'w';
  EXPECT_EQ(DescribeValue(value), DescribeValue(std::string(value)));
  EXPECT_NE(DescribeValue(value), DescribeValue(other));
}

TEST(RoundTest, FlushesAtOtherOperationsAreNoDifference) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Verdict verdict = RunRound(RandomRound(seed), {.actual = kOtherSize});
    ASSERT_TRUE(verdict.same()) << "seed " << seed << "\n" << verdict.difference;
  }
}

TEST(RoundTest, FactoryThatIsNotKnownIsAFailure) {
  const Verdict verdict = RunRound(RandomRound(1), {.actual = "no_such_list"});
  EXPECT_NE(verdict.difference.find("no_such_list"), std::string::npos) << verdict.difference;
}

class FaultTest : public testing::TestWithParam<const char*> {};

TEST_P(FaultTest, FaultyMemtableIsFoundAndItsOperationsGetFewerAndFailAgain) {
  const FactoryNames factories{.actual = GetParam()};
  const RoundConfig config{.seed = 1, .operation_count = kOperationCount, .range_deletes = 1, .snapshots = 1};
  const Round round = GenerateRound(config);
  const Verdict verdict = RunRound(round, factories);
  ASSERT_FALSE(verdict.same());
  EXPECT_LT(verdict.done_count, round.operations.size());
  const Round shorter = Shrink(round, verdict.done_count, factories, Scaled(40, 10));
  EXPECT_LT(CountOperations(shorter.operations), CountOperations(round.operations) / 2);
  Round replayed;
  std::string error;
  ASSERT_TRUE(Parse(Format(shorter), &replayed, &error)) << error;
  EXPECT_FALSE(RunRound(replayed, factories).same());
  EXPECT_TRUE(RunRound(replayed, {.actual = "skip_list"}).same());
}

INSTANTIATE_TEST_SUITE_P(Faults, FaultTest, testing::Values(kLosesInserts, kLosesLookups, kSkipsBackward),
                         [](const auto& fault) { return std::string(fault.param); });

// Writes, a kill, and more writes than can be done before it comes.
Round RoundWithKill(uint64_t disable_wal) {
  Round round{.config = {.seed = 1, .disable_wal = disable_wal}};
  for (uint64_t i = 0; i < 20'000; ++i) {
    const std::string key = std::to_string(i);
    round.operations.push_back({.value_seed = i, .value_bytes = 20, .key = key});
    if (i == 100) round.operations.push_back({.kind = OpKind::kKill, .delay_us = 20'000});
  }
  return round;
}

TEST(KillTest, AcknowledgedWritesAreThereAfterAKill) {
  const Verdict verdict = RunRound(RoundWithKill(0), {.actual = kOtherSize});
  EXPECT_TRUE(verdict.same()) << verdict.difference;
  EXPECT_EQ(verdict.kill_count, 1u);
}

TEST(KillTest, LostWritesAreFound) {
  const Verdict verdict = RunRound(RoundWithKill(1), {.actual = kOtherSize});
  EXPECT_EQ(verdict.kill_count, 1u);
  EXPECT_NE(verdict.difference.find("database ends with write 0, acknowledged was write"), std::string::npos)
      << verdict.difference;
}

}  // namespace
}  // namespace strongbin::differential
