#include "strongbin/tools/dbbench/page/builder.h"

#include <algorithm>
#include <map>
#include <set>

#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/page/chart.h"

namespace strongbin::dbbench {

double ValueOf(const ResultRow& row, const char* column) {
  const auto value = row.row.find(column);
  return value != row.row.end() && value->is_number() ? value->get<double>() : 0;
}

uint64_t CountOf(const ResultRow& row, const char* column) {
  const double value = ValueOf(row, column);
  return value > 0 ? static_cast<uint64_t>(std::min(value, 1e18)) : 0;  // files are made elsewhere, too
}

std::vector<double> Values(const Rows& rows, const std::string& series, const char* column) {
  std::vector<double> values;
  for (const ResultRow* row : rows) {
    if (row->series == series) values.push_back(ValueOf(*row, column));
  }
  return values;
}

std::string SizeText(const Size& size) {
  return Grouped(size.first) + " keys, " + Grouped(size.second) + (size.second == 1 ? " thread" : " threads");
}

Size UsualSize(const Rows& rows) {
  std::map<Size, std::set<std::string>> sizes;
  for (const ResultRow* row : rows) sizes[SizeOf(*row)].insert(row->series);
  Size best;
  size_t most = 0;
  for (const auto& [size, series] : sizes) {
    const bool larger = size.first > best.first || (size.first == best.first && size.second < best.second);
    if (series.size() < most || (series.size() == most && !larger)) continue;
    best = size;
    most = series.size();
  }
  return best;
}

Rows Builder::Select(const Filter& filter) const {
  Rows rows;
  for (const ResultRow& row : results_.rows) {
    if (filter(row)) rows.push_back(&row);
  }
  return rows;
}

std::string Builder::ColorOfSeries(const std::string& series) const {
  return std::string(ColorOf(static_cast<size_t>(std::find(series_.begin(), series_.end(), series) - series_.begin())));
}

std::vector<LegendEntry> Builder::Legend(const Filter& filter) const {
  std::vector<LegendEntry> legend;
  for (const std::string& series : series_) {
    const bool any = std::any_of(results_.rows.begin(), results_.rows.end(),
                                 [&](const ResultRow& row) { return row.series == series && filter(row); });
    if (any) legend.push_back({series, ColorOfSeries(series)});
  }
  return legend;
}

}  // namespace strongbin::dbbench
