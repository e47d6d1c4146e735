#include "strongbin/tools/dbbench/gate/requirement.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace strongbin::dbbench {
namespace {

using ::testing::HasSubstr;

Requirement Parsed(const std::string& text) {
  Requirement requirement;
  std::string error;
  EXPECT_TRUE(ParseRequirement(text, &requirement, &error)) << error;
  return requirement;
}

// Pairs in which each test's ops are `baseline` and `candidate`, give or take a hundredth, no two of them equal.
std::vector<Comparison> Pairs(double baseline, double candidate, int count) {
  std::vector<PairMetrics> pairs;
  for (int i = 0; i < count; ++i) {
    PairMetrics pair;
    for (const char* test : {"one", "other"}) {
      pair.baseline[test]["ops"] = baseline * (1 + 0.002 * (i % 5) + 1e-6 * i);
      pair.candidate[test]["ops"] = candidate * (1 + 0.002 * ((i + 2) % 5) + 1e-6 * i + 5e-7);
    }
    pairs.push_back(pair);
  }
  return Compare(pairs);
}

bool Passes(const std::string& text, const std::vector<Comparison>& comparisons) {
  return Judge(Parsed(text), comparisons, 0.001).pass;
}

TEST(RequirementTest, FormsAreRead) {
  const Requirement ratio = Parsed("fresh_key_chunks<=0.5x");
  EXPECT_EQ(ratio.metric, "fresh_key_chunks");
  EXPECT_EQ(ratio.relation, Requirement::Relation::kAtMost);
  EXPECT_TRUE(ratio.is_ratio);
  EXPECT_EQ(ratio.bound, 0.5);
  const Requirement value = Parsed("dataset_write_random:p99_ns>=1e3");
  EXPECT_EQ(value.test, "dataset_write_random");
  EXPECT_EQ(value.relation, Requirement::Relation::kAtLeast);
  EXPECT_FALSE(value.is_ratio);
  EXPECT_EQ(value.bound, 1000);
  EXPECT_EQ(Parsed("mean:ops=same").relation, Requirement::Relation::kSame);
}

TEST(RequirementTest, WrongOnesNameWhatIsAllowed) {
  for (const char* text : {"", "ops", "ops<1x", "ops=1x", "ops>=x", "ops>=1y", "<=1", "ops==same"}) {
    Requirement requirement;
    std::string error;
    EXPECT_FALSE(ParseRequirement(text, &requirement, &error)) << text;
    EXPECT_THAT(error, HasSubstr("allowed"));
  }
  Requirement requirement;
  std::string error;
  EXPECT_FALSE(ParseRequirement("speed>=1x", &requirement, &error));
  EXPECT_THAT(error, HasSubstr("fresh_key_chunks"));
}

TEST(RequirementTest, TheWholeIntervalMustLieOnTheRightSide) {
  const auto comparisons = Pairs(100, 97, 10);
  EXPECT_TRUE(Passes("ops>=0.95x", comparisons));
  EXPECT_FALSE(Passes("ops>=0.97x", comparisons));  // the median does, the interval does not
  EXPECT_TRUE(Passes("ops<=1x", comparisons));
  EXPECT_TRUE(Passes("ops>=90", comparisons));
  EXPECT_FALSE(Passes("ops>=99", comparisons));
  EXPECT_TRUE(Passes("one:ops>=0.95x", comparisons));
  EXPECT_TRUE(Passes("mean:ops>=0.95x", comparisons));
}

TEST(RequirementTest, OneTestThatFailsFailsTheCondition) {
  std::vector<PairMetrics> pairs(10);
  for (PairMetrics& pair : pairs) {
    pair.baseline = {{"one", {{"ops", 1}}}, {"other", {{"ops", 1}}}};
    pair.candidate = {{"one", {{"ops", 2}}}, {"other", {{"ops", 0.5}}}};
  }
  const auto comparisons = Compare(pairs);
  EXPECT_FALSE(Passes("ops>=0.95x", comparisons));
  EXPECT_TRUE(Passes("one:ops>=0.95x", comparisons));
  EXPECT_TRUE(Passes("mean:ops>=0.95x", comparisons));
}

TEST(RequirementTest, SameIsWhatTheTestCannotTellApart) {
  EXPECT_TRUE(Passes("ops=same", Pairs(100, 100, 7)));
  EXPECT_FALSE(Passes("ops=same", Pairs(100, 75, 7)));
  EXPECT_TRUE(Passes("ops=same", Pairs(100, 75, 6))) << "six pairs cannot show a thousandth";
}

TEST(RequirementTest, TooFewPairsAndWhatWasNotMeasuredPassNothing) {
  EXPECT_FALSE(Passes("ops>=0.5x", Pairs(100, 100, 5)));
  EXPECT_TRUE(Passes("ops>=0.5x", Pairs(100, 100, 6)));
  EXPECT_FALSE(Passes("rss<=2x", Pairs(100, 100, 6)));
  EXPECT_FALSE(Passes("third:ops>=0.5x", Pairs(100, 100, 6)));
  EXPECT_FALSE(Passes("ops>=0.5x", {}));
}

TEST(ComparisonTest, NothingByNothingIsOneAndSomethingByNothingIsNot) {
  EXPECT_EQ(RatioOf(0, 0), 1);
  EXPECT_GT(RatioOf(1, 0), 1e300);
  EXPECT_EQ(RatioOf(0, 5), 0);
  std::vector<PairMetrics> pairs(6);
  for (PairMetrics& pair : pairs) {
    pair.baseline = {{"one", {{"warm_fresh_key_chunks", 100}}}};
    pair.candidate = {{"one", {{"warm_fresh_key_chunks", 0}}}};
  }
  EXPECT_TRUE(Passes("warm_fresh_key_chunks<=0.01x", Compare(pairs)));
}

}  // namespace
}  // namespace strongbin::dbbench
