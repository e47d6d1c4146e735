// What the sections have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strongbin/tools/dbbench/page/document.h"
#include "strongbin/tools/dbbench/page/result_set.h"

namespace strongbin::dbbench {

using Rows = std::vector<const ResultRow*>;
using Filter = std::function<bool(const ResultRow&)>;
using Size = std::pair<uint64_t, uint64_t>;  // keys, threads

inline constexpr std::string_view kCursorTest = "cursor_";

double ValueOf(const ResultRow& row, const char* column);    // 0 when absent
uint64_t CountOf(const ResultRow& row, const char* column);  // the same as a whole number; 0 for less
std::vector<double> Values(const Rows& rows, const std::string& series, const char* column);
inline Size SizeOf(const ResultRow& row) { return {row.keys, row.threads}; }
std::string SizeText(const Size& size);
// Of the sizes that the rows ran with, the one that most series share; then most keys, fewest threads.
Size UsualSize(const Rows& rows);
inline bool IsCursor(const ResultRow& row) { return row.test.starts_with(kCursorTest); }
inline bool IsSingle(const ResultRow& row) { return row.row.value("timing", "") == "single"; }
inline bool IsThroughput(const ResultRow& row) { return !IsCursor(row) && !IsSingle(row); }

// The rows, and one colour for each series. Refers to the results, which must live as long.
class Builder {
 public:
  explicit Builder(const ResultSet& results) : results_(results), series_(results.SeriesNames()) {}

  // In sections_rates.cc.
  Section Throughput() const;
  Section ColdAndWarm() const;
  // One line a series over a number that the files vary.
  Section Scaling(const std::string& title, const std::string& label, uint64_t ResultRow::*varied,
                  uint64_t ResultRow::*fixed) const;
  // In sections_detail.cc.
  Section Latency() const;
  Section RateOverTime() const;
  Section MemoryOverTime() const;
  Section Cursor() const;

 private:
  Rows Select(const Filter& filter) const;
  std::string ColorOfSeries(const std::string& series) const;
  std::vector<LegendEntry> Legend(const Filter& filter) const;

  const ResultSet& results_;
  const std::vector<std::string> series_;
};

}  // namespace strongbin::dbbench
