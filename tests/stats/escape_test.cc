#include "strongbin/stats/escape.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "strongbin/tests/test_scale.h"

namespace strongbin::stats_internal {
namespace {

using Append = void (*)(std::string&, std::string_view);
std::string Result(Append append, std::string_view text) {
  std::string out;
  append(out, text);
  return out;
}

TEST(EscapeTest, JsonStringsEscapeQuotesBackslashesAndControls) {
  EXPECT_EQ(Result(AppendJsonString, "a\"b\\c\nd\x01\x1f\t"), R"("a\"b\\c\nd\u0001\u001f\u0009")");
  EXPECT_EQ(Result(AppendJsonString, std::string_view("\0", 1)), R"("\u0000")");
}

TEST(EscapeTest, LabelValuesEscapeQuotesBackslashesAndNewlinesOnly) {
  EXPECT_EQ(Result(AppendLabelValue, "a\"b\\c\nd\te"), "\"a\\\"b\\\\c\\nd\te\"");
}

TEST(EscapeTest, HelpEscapesBackslashesAndNewlinesButNoQuotes) {
  EXPECT_EQ(Result(AppendHelp, "a\"b\\c\nd"), R"(a"b\\c\nd)");
}

TEST(EscapeTest, LabelNamesBecomeLegal) {
  EXPECT_EQ(Result(AppendLabelName, "table"), "table");
  EXPECT_EQ(Result(AppendLabelName, "a-b c"), "a_b_c");
  EXPECT_EQ(Result(AppendLabelName, "1st"), "_1st");
  EXPECT_EQ(Result(AppendLabelName, ""), "_");
}

TEST(EscapeTest, Utf8PassesAndOtherBytesAreReplaced) {
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(Result(AppendHelp, "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x99\x82"), "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x99\x82");
  EXPECT_EQ(Result(AppendHelp, "a\xFFz"), "a" + replacement + "z");                        // no first byte
  EXPECT_EQ(Result(AppendHelp, "\xC3"), replacement);                                      // cut off
  EXPECT_EQ(Result(AppendHelp, "\xC0\xAF"), replacement + replacement);                    // overlong
  EXPECT_EQ(Result(AppendHelp, "\xE0\x80\xAF"), replacement + replacement + replacement);  // overlong
  EXPECT_EQ(Result(AppendHelp, "\xED\xA0\x80"), replacement + replacement + replacement);  // surrogate
  EXPECT_EQ(Result(AppendHelp, "\xF4\x90\x80\x80"),
            replacement + replacement + replacement + replacement);  // > U+10FFFF
  EXPECT_EQ(Result(AppendJsonString, "\xE2\x82\""), "\"" + replacement + replacement + "\\\"\"");
}

// Replaced text is UTF-8, so replacing it again changes nothing; and nothing but the bad bytes is replaced.
TEST(EscapeTest, AnyBytesBecomeUtf8AndStayOnOneLine) {
  constexpr std::string_view kBytes = "a\n\"\x7F\x80\x8F\x90\x9F\xA0\xBF\xC1\xC2\xDF\xE0\xE1\xED\xEF\xF0\xF4\xF5\xFF";
  std::mt19937 random(20260);
  const size_t rounds = TestScale(20'000, 5'000'000);
  for (size_t round = 0; round < rounds; ++round) {
    std::string text(random() % 9, '\0');
    for (char& c : text) c = kBytes[random() % kBytes.size()];
    const std::string once = Result(AppendJsonString, text);
    ASSERT_EQ(once.find('\n'), std::string::npos);
    const std::string help = Result(AppendHelp, once.substr(1, once.size() - 2));
    std::string back;
    for (size_t i = 0; i < help.size(); i += help[i] == '\\' ? size_t{2} : size_t{1}) back += help[i];
    ASSERT_EQ(back, once.substr(1, once.size() - 2));
  }
}

TEST(EscapeTest, DecimalsHaveAllDigits) {
  std::string out;
  AppendDecimal(out, std::numeric_limits<uint64_t>::max());
  out += ' ';
  AppendDecimal(out, 0);
  EXPECT_EQ(out, "18446744073709551615 0");
}

}  // namespace
}  // namespace strongbin::stats_internal
