#include "strongbin/stats/escape.h"

#include <limits>

#include <gtest/gtest.h>

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

TEST(EscapeTest, DecimalsHaveAllDigits) {
  std::string out;
  AppendDecimal(out, std::numeric_limits<uint64_t>::max());
  out += ' ';
  AppendDecimal(out, 0);
  EXPECT_EQ(out, "18446744073709551615 0");
}

}  // namespace
}  // namespace strongbin::stats_internal
