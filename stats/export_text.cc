#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include "strongbin/stats/escape.h"
#include "strongbin/stats/export.h"
#include "strongbin/stats/human_text.h"
#include "strongbin/stats/metric_view.h"

namespace strongbin {
namespace {

using stats_internal::MetricView;

constexpr std::string_view kColumnGap = "  ";
constexpr std::string_view kNoSum = "-";
constexpr size_t kTitleRow = SIZE_MAX;

std::string NumberText(const MetricInfo& info, uint64_t value) {
  return info.unit == "bytes" ? InBinaryUnits(value) : WithSeparators(value);
}

// Labels that are numbers are sizes in bytes.
std::string LabelTitle(std::string_view label) {
  uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), bytes);
  const bool is_number = error == std::errc() && end == label.data() + label.size();
  return is_number ? InBinaryUnits(bytes) : std::string(label);
}

// The title and, top to bottom, the cells of a column of text.
struct Column {
  std::string title;
  std::vector<std::string> cells;

  size_t Width() const {
    size_t width = title.size();
    for (const std::string& cell : cells) width = std::max(width, cell.size());
    return width;
  }
};

void AppendPadded(std::string& out, std::string_view text, size_t width, bool to_the_left) {
  const std::string padding(width - std::min(width, text.size()), ' ');
  if (!to_the_left) out += padding;
  out += text;
  if (to_the_left) out += padding;
}

void AppendLine(std::string& out, std::string_view name, size_t name_width, std::span<const Column> columns,
                size_t row) {
  AppendPadded(out, name, name_width, true);
  for (const Column& column : columns) {
    out += kColumnGap;
    AppendPadded(out, row == kTitleRow ? column.title : column.cells[row], column.Width(), false);
  }
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

// Lays columns side by side, and goes on in a new block with the names repeated where the width is used up.
void AppendTable(std::string& out, const Column& names, std::span<const Column> columns) {
  while (!columns.empty()) {
    size_t width = names.Width();
    size_t fitting = 0;
    while (fitting < columns.size()) {
      width += kColumnGap.size() + columns[fitting].Width();
      if (width > kTextWidth && fitting > 0) break;
      ++fitting;
    }
    const std::span<const Column> block = columns.first(fitting);
    out += '\n';
    if (!names.title.empty()) AppendLine(out, names.title, names.Width(), block, kTitleRow);
    for (size_t row = 0; row < names.cells.size(); ++row) {
      AppendLine(out, names.cells[row], names.Width(), block, row);
    }
    columns = columns.subspan(fitting);
  }
}

bool IsZero(uint64_t value) { return value == 0; }

// The table of metrics that have the same labels, none of which is all zero.
void AppendSection(std::string& out, std::span<const MetricView> views) {
  if (views.empty()) return;
  const MetricInfo& first = views.front().info;
  Column names{std::string(first.label), {}};
  for (const MetricView& view : views) names.cells.emplace_back(view.info.name);

  std::vector<Column> columns;
  for (size_t i = 0; i < views.front().values.size(); ++i) {
    if (std::ranges::all_of(views, [i](const MetricView& view) { return IsZero(view.values[i]); })) continue;
    Column column{first.labels.empty() ? std::string() : LabelTitle(first.labels[i]), {}};
    for (const MetricView& view : views) column.cells.push_back(NumberText(view.info, view.values[i]));
    columns.push_back(std::move(column));
  }
  if (!first.labels.empty()) {
    Column sums{"sum", {}};
    for (const MetricView& view : views) {
      const std::optional<uint64_t> sum = SumOf(view.info, view.values);
      sums.cells.push_back(sum ? NumberText(view.info, *sum) : std::string(kNoSum));
    }
    columns.push_back(std::move(sums));
  }
  AppendTable(out, names, columns);
}

void AppendAllZero(std::string& out, const std::vector<std::string_view>& names) {
  if (names.empty()) return;
  std::string line = "all zero:";
  out += '\n';
  for (const std::string_view name : names) {
    if (line.size() + 1 + name.size() > kTextWidth) {
      out += line + '\n';
      line = " ";
    }
    line += ' ';
    line += name;
  }
  out += line + '\n';
}

template <class Stats>
std::string TextOf(const Stats& stats, const StatsLabels& labels) {
  std::string out = "strongbin ";
  out += stats_internal::kGroupOf<Stats>;
  for (const auto& [name, value] : labels) {
    out += ' ' + name + '=';
    stats_internal::AppendLabelValue(out, value);
  }
  out += '\n';

  std::vector<std::string_view> all_zero;
  std::vector<MetricView> section;
  const std::string_view* section_labels = nullptr;
  for (const MetricView& view : stats_internal::ViewsOf(stats)) {
    if (view.info.labels.data() != section_labels) {
      AppendSection(out, section);
      section.clear();
      section_labels = view.info.labels.data();
    }
    if (std::ranges::all_of(view.values, IsZero)) {
      all_zero.push_back(view.info.name);
    } else {
      section.push_back(view);
    }
  }
  AppendSection(out, section);
  AppendAllZero(out, all_zero);
  return out;
}

}  // namespace

std::string ToText(const PoolStats& stats, const StatsLabels& labels) { return TextOf(stats, labels); }
std::string ToText(const TableStats& stats, const StatsLabels& labels) { return TextOf(stats, labels); }
std::string ToText(const RocksDBStats& stats, const StatsLabels& labels) { return TextOf(stats, labels); }

}  // namespace strongbin
