#include "strongbin/tests/memtable/rocksdb/differential_trace.h"

#include <algorithm>
#include <functional>

#include "strongbin/tests/memtable/rocksdb/differential_text.h"

namespace strongbin::differential {

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

constexpr size_t kWholeValueBytes = 40;
constexpr size_t kContextLines = 5;

std::string LineOrEnd(const Trace& trace, size_t line) {
  return line < trace.lines().size() ? trace.lines()[line] : "(nothing more)";
}

}  // namespace

void Trace::Add(std::string_view asked, std::string_view answer) {
  std::string& line = lines_.emplace_back(asked);
  line.append(" -> ").append(answer);
}

void Trace::AddStatus(std::string_view asked, const rdb::Status& status) { Add(asked, DescribeStatus(status)); }

void Trace::AddValue(std::string_view asked, const rdb::Status& status, const rdb::Slice& value) {
  Add(asked, DescribeStatus(status) + (status.ok() ? " " + DescribeValue(value) : ""));
}

void Trace::AddEntry(std::string_view asked, const rdb::Slice& key, const rdb::Slice& value) {
  Add(asked, Encode(key.ToStringView()) + " = " + DescribeValue(value));
}

std::optional<std::string> FirstDifference(const Trace& expected, const Trace& actual) {
  const auto [left, right] =
      std::mismatch(expected.lines().begin(), expected.lines().end(), actual.lines().begin(), actual.lines().end());
  if (left == expected.lines().end() && right == actual.lines().end()) return {};
  const auto line = static_cast<size_t>(left - expected.lines().begin());
  std::string text;
  for (size_t before = line - std::min(line, kContextLines); before < line; ++before) {
    text += "  both:     " + expected.lines()[before] + "\n";
  }
  text += "  expected: " + LineOrEnd(expected, line) + "\n";
  text += "  actual:   " + LineOrEnd(actual, line) + "\n";
  return text;
}

std::string DescribeStatus(const rdb::Status& status) {
  const std::string text = status.ToString();
  return text.substr(0, text.find(':'));
}

std::string DescribeValue(const rdb::Slice& value) {
  if (value.size() <= kWholeValueBytes) return "'" + Encode(value.ToStringView()) + "'";
  return std::to_string(value.size()) + " bytes, hash " +
         std::to_string(std::hash<std::string_view>()(value.ToStringView()));
}

}  // namespace strongbin::differential
