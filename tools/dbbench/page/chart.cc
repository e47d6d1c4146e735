#include "strongbin/tools/dbbench/page/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "strongbin/tools/dbbench/child_process.h"
#include "strongbin/tools/dbbench/format.h"

namespace strongbin::dbbench {
namespace {

constexpr std::array<std::string_view, 8> kColors = {"#3b82f6", "#f97316", "#10b981", "#a855f7",
                                                     "#ec4899", "#ca8a04", "#06b6d4", "#78716c"};
constexpr std::string_view kInk = "#0a0b0c";  // becomes the colour of the text

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

std::string Quoted(std::string_view text) { return "\"" + Escaped(text) + "\""; }

// A long name is broken behind its first comma.
std::pair<std::string_view, std::string_view> InTwoLines(std::string_view name) {
  constexpr size_t kLong = 20;
  const size_t comma = name.find(", ");
  if (name.size() <= kLong || comma == std::string_view::npos) return {name, {}};
  return {name.substr(0, comma), name.substr(comma + 2)};
}

void ReplaceAll(std::string* text, std::string_view from, std::string_view to) {
  for (size_t at = text->find(from); at != std::string::npos; at = text->find(from, at + to.size())) {
    text->replace(at, from.size(), to);
  }
}

std::string Head(int height) {
  return "set terminal svg size 420," + std::to_string(height) +
         " dynamic noenhanced font \"sans-serif,13\" linewidth 1\nset border 3 lc rgb \"" + std::string(kInk) +
         "\"\nset tics nomirror textcolor rgb \"" + std::string(kInk) +
         "\"\nset key off\nset grid lc rgb \"#808895\" lw 0.3 dt 1\nset style fill solid 0.85 noborder\n";
}

// Runs gnuplot and fits its picture into a page: no fixed size, no white ground, ink in the colour of the text.
std::string Run(const std::string& script) {
  std::string path = (std::filesystem::temp_directory_path() / "dbbench-plot-XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file < 0) return {};
  close(file);
  std::ofstream(path) << script;
  std::string svg = OutputOf("gnuplot '" + path + "' 2>/dev/null");
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  const size_t begin = svg.find("<svg");
  if (begin == std::string::npos) return {};
  svg.erase(0, begin);
  const size_t title = svg.find("<title>");
  if (title != std::string::npos) svg.erase(title, svg.find("</title>", title) + 8 - title);
  for (const std::string_view ink :
       {std::string_view("rgb( 10,  11,  12)"), std::string_view("rgb(10,11,12)"), std::string_view("black")}) {
    ReplaceAll(&svg, "'" + std::string(ink) + "'", "'currentColor'");
    ReplaceAll(&svg, "\"" + std::string(ink) + "\"", "\"currentColor\"");
  }
  return svg;
}

// 1500000 -> 1.5M
std::string Short(double value) {
  constexpr std::array<std::pair<double, const char*>, 3> kUnits = {{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [unit, name] : kUnits) {
    if (value >= unit) return Plain(value / unit) + name;
  }
  return Plain(value);
}

std::string ShortDuration(double ns) {
  constexpr std::array<std::pair<double, const char*>, 3> kUnits = {{{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}}};
  for (const auto& [unit, name] : kUnits) {
    if (ns >= unit) return Plain(ns / unit) + name;
  }
  return Plain(ns) + " ns";
}

// The numbers along an axis, each with its label.
std::string Ticks(char axis, const std::vector<double>& values, std::string (*label)(double) = &Short) {
  std::string text = std::string("set ") + axis + "tics (";
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i > 0 ? ", " : "") + Quoted(label(values[i])) + " " + Plain(values[i]);
  }
  return text + ")\n";
}

// From 0 to `most`, with two to five steps.
std::string Linear(char axis, double most) {
  const int exponent = static_cast<int>(std::floor(std::log10(most)));
  const double digit = most / std::pow(10, exponent);
  const double part = digit > 4 ? 2 : (digit > 2 ? 1 : 0.5);
  std::vector<double> values;
  // Divided where the power is a fraction, so that a tenth is 0.1.
  for (int i = 0; i * part <= digit; ++i) {
    values.push_back(exponent < 0 ? i * part / std::pow(10, -exponent) : i * part * std::pow(10, exponent));
  }
  return std::string("set ") + axis + "range [0:" + Plain(most) + "]\n" + Ticks(axis, values);
}

// Whole powers of ten around the numbers.
std::string Logarithmic(char axis, double low, double high, std::string (*label)(double)) {
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high * 1.0001)));
  std::vector<double> values;
  for (int i = first; i <= last; ++i) values.push_back(std::pow(10, i));
  return std::string("set logscale ") + axis + "\nset " + axis + "range [" + Plain(values.front()) + ":" +
         Plain(values.back()) + "]\n" + Ticks(axis, values, label);
}

std::string Label(char axis, const std::string& text) {
  return std::string("set ") + axis + "label " + Quoted(text) + " textcolor rgb \"" + std::string(kInk) + "\"\n";
}

}  // namespace

bool GnuplotIsInstalled() { return !OutputOf("gnuplot --version 2>/dev/null").empty(); }

std::string_view ColorOf(size_t series) { return kColors[series % kColors.size()]; }

std::string Draw(const BarChart& chart) {
  if (chart.bars.empty()) return {};
  double most = chart.mark;
  std::string data = "$data << END\n";
  std::string names;
  size_t longest = 0;
  for (size_t i = 0; i < chart.bars.size(); ++i) {
    const Bar& bar = chart.bars[i];
    const double low = std::isfinite(bar.low) ? bar.low : bar.value;
    const double high = std::isfinite(bar.high) ? bar.high : bar.value;
    most = std::max({most, bar.value, high});
    data += Plain(bar.value) + " " + std::to_string(i) + " " + Plain(low) + " " + Plain(high) + " 0x" +
            bar.color.substr(1) + " " + Quoted(Significant(bar.value)) + "\n";
    const auto [first_line, second_line] = InTwoLines(bar.name);
    names += (i > 0 ? ", " : "") + std::string("\"") + Escaped(first_line) +
             (second_line.empty() ? "" : "\\n" + Escaped(second_line)) + "\" " + std::to_string(i);
    longest = std::max({longest, first_line.size(), second_line.size()});
  }
  data += "END\n";
  if (most <= 0) most = 1;
  std::string script = Head(70 + 34 * static_cast<int>(chart.bars.size())) + data;
  script += "set yrange [" + Plain(static_cast<double>(chart.bars.size()) - 0.4) + ":-0.6]\nset ytics scale 0 (" +
            names + ")\nset lmargin " + Plain(std::ceil(static_cast<double>(longest) * 0.9) + 2) + "\nset rmargin 7\n" +
            Linear('x', most * 1.05) + Label('x', chart.unit) + "set grid noytics xtics\n";
  if (chart.mark > 0) {
    script += "set arrow from " + Plain(chart.mark) + ",graph 0 to " + Plain(chart.mark) + ",graph 1 nohead lc rgb \"" +
              std::string(kInk) + "\" dt 2 front\n";
  }
  script +=
      "plot $data using 1:2:(0):1:($2-0.36):($2+0.36):5 with boxxyerror lc rgb variable, \\\n"
      "  $data using ($3 == $4 ? 1/0 : $1):2:3:4 with xerrorbars pt 0 lw 1.5 lc rgb \"" +
      std::string(kInk) +
      "\", \\\n"
      "  $data using (($1 > $4 ? $1 : $4)):2:6 with labels left offset 0.6,0 textcolor rgb \"" +
      std::string(kInk) + "\"\n";
  return Run(script);
}

std::string Draw(const LineChart& chart) {
  std::set<double> places;  // of points
  double low_x = INFINITY, high_x = 0, low_y = INFINITY, high_y = 0;
  std::string script = Head(300);
  std::string plots;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    if (series.points.empty()) continue;
    const std::string name = "$s" + std::to_string(i);
    script += name + " << END\n";
    for (const auto& [x, y] : series.points) {
      script += Plain(x) + " " + Plain(y) + "\n";
      places.insert(x);
      if (x > 0) low_x = std::min(low_x, x);
      if (y > 0) low_y = std::min(low_y, y);
      high_x = std::max(high_x, x);
      high_y = std::max(high_y, y);
    }
    script += "END\n";
    plots += (plots.empty() ? "plot " : ", \\\n  ") + name + " using 1:2 with " +
             (chart.dots ? std::string("linespoints pt 7 ps 0.5") : std::string("lines")) + " lw 2 " + "lc rgb " +
             Quoted(series.color);
  }
  if (plots.empty() || high_x <= 0 || high_y <= 0) return {};
  script += Label('x', chart.x_label) + Label('y', chart.y_label);
  script += chart.y_log ? Logarithmic('y', low_y, high_y, chart.y_is_duration ? &ShortDuration : &Short)
                        : Linear('y', high_y * 1.08);
  if (chart.x_is_share_of_slowest) {
    script +=
        "set logscale x\nset xrange [1:" + Plain(std::max(high_x, 100.0)) +
        "]\nset xtics (\"0 %%\" 1, \"90 %%\" 10, \"99 %%\" 100, \"99.9\" 1000, \"99.99\" 10000, \"99.999\" 100000, "
        "\"99.9999\" 1000000)\n";
  } else if (chart.x_log) {
    script += "set logscale x\nset xrange [" + Plain(low_x * 0.8) + ":" + Plain(high_x * 1.25) + "]\n" +
              Ticks('x', {places.begin(), places.end()});
  } else {
    script += Linear('x', high_x * 1.02);
  }
  return Run(script + plots + "\n");
}

}  // namespace strongbin::dbbench
