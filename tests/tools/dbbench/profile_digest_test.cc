#include "strongbin/tools/dbbench/profile_digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace strongbin::dbbench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProfileDigestTest, LinesOfPprofAreRead) {
  const ProfileText profile = ParseProfileText(
      "Using local file dbbench.\n"
      "Total: 1000 B\n"
      "     600  60.0%  60.0%      600  60.0% strongbin::ChunkPool::Fresh\n"
      "       0   0.0%  60.0%      450  45.0% strongbin::KeyArena::AllocateSlow (inline)\n");
  EXPECT_EQ(profile.total, 1000);
  ASSERT_EQ(profile.lines.size(), 2u);
  EXPECT_EQ(profile.lines[0].flat, 600);
  EXPECT_EQ(profile.lines[1].cumulative, 450);
  EXPECT_EQ(profile.lines[1].cumulative_percent, 45);
  EXPECT_EQ(profile.lines[1].name, "strongbin::KeyArena::AllocateSlow (inline)");
  EXPECT_TRUE(ParseProfileText("").lines.empty());
}

TEST(ProfileDigestTest, AgreementAndDisagreementAreSaidWithTheReason) {
  EXPECT_THAT(CompareKeyMemory({1.02e6, 1e6, true}), HasSubstr("they agree"));
  EXPECT_THAT(CompareKeyMemory({0, 0, true}), HasSubstr("they agree"));
  EXPECT_THAT(CompareKeyMemory({0, 1e6, false}), HasSubstr("--chunk_source=malloc"));
  EXPECT_THAT(CompareKeyMemory({2e6, 1e6, true}), HasSubstr("DISAGREE"));
  EXPECT_THAT(CompareKeyMemory({0.5e6, 1e6, true}), HasSubstr("DISAGREE"));
  EXPECT_THAT(CompareKeyMemory({0.5e6, 1e6, true}), Not(HasSubstr("--chunk_source=malloc")));
}

}  // namespace
}  // namespace strongbin::dbbench
