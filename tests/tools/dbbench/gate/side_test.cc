#include "strongbin/tools/dbbench/gate/side.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strongbin/tools/dbbench/gate/machine_load.h"

namespace strongbin::dbbench {
namespace {

using ::testing::HasSubstr;

TEST(SideTest, WordsBecomeFlags) {
  Side side;
  std::string error;
  ASSERT_TRUE(ParseSide("  kv pool=off --keys=5 ", &side, &error)) << error;
  EXPECT_EQ(side.flags, (std::vector<std::string>{"--dbs=kv", "--pool_cap_bytes=0", "--keys=5"}));
  ASSERT_TRUE(ParseSide("pool=4096 lib=/proc/self/exe dbbench=/proc/self/exe", &side, &error)) << error;
  EXPECT_EQ(side.flags, (std::vector<std::string>{"--pool_cap_bytes=4096"}));
  EXPECT_EQ(side.library, "/proc/self/exe");
  EXPECT_EQ(side.program, "/proc/self/exe");
}

TEST(SideTest, WrongWordsAreNamed) {
  for (const char* text :
       {"pool=some", "pool=", "lib=/no/such/file", "dbbench=/no/such/file", "nonsense", "kv nonsense"}) {
    Side side;
    std::string error;
    EXPECT_FALSE(ParseSide(text, &side, &error)) << text;
    EXPECT_THAT(error, HasSubstr("a side is made of"));
  }
}

TEST(MachineLoadTest, WhatWeUseOurselvesDisturbsNobody) {
  LoadSample before, after;
  after.when_ns = 2'000'000'000;  // two seconds
  after.busy_seconds = 3;
  LoadLimits limits;
  limits.others = 0.25;
  EXPECT_NEAR(ShareBetween(before, after, 2.8).others, 0.1, 1e-9);
  EXPECT_TRUE(Disturbance(ShareBetween(before, after, 2.8), limits).empty());
  EXPECT_THAT(Disturbance(ShareBetween(before, after, 1), limits), HasSubstr("others used 1.00 processors"));
}

TEST(MachineLoadTest, StealAndWaitingForMemoryDisturb) {
  LoadSample before, after;
  after.when_ns = 1'000'000'000;
  after.steal_seconds = 0.2;
  after.memory_stall_seconds = 0.5;
  LoadLimits limits;
  limits.others = 1;
  EXPECT_THAT(Disturbance(ShareBetween(before, after, 0), limits), HasSubstr("hypervisor"));
  EXPECT_THAT(Disturbance(ShareBetween(before, after, 0), limits), HasSubstr("50.0 % of the time"));
}

TEST(MachineLoadTest, TheKernelsSumsGrow) {
  const LoadSample before = SampleLoad();
  const LoadSample after = SampleLoad();
  EXPECT_GT(before.busy_seconds, 0);
  EXPECT_GE(after.busy_seconds, before.busy_seconds);
  EXPECT_GE(after.runnable, 1u);
}

}  // namespace
}  // namespace strongbin::dbbench
