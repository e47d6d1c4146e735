// Pictures by gnuplot.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace strongbin::dbbench {

struct Bar {
  std::string name;
  std::string color;
  double value = 0;
  double low = 0;  // of the interval drawn over it; equal to high: none
  double high = 0;
};
struct BarChart {
  std::string unit;
  std::vector<Bar> bars;
  double mark = 0;  // a line to compare with; 0: none
};

struct Series {
  std::string color;
  std::vector<std::pair<double, double>> points;
};
struct LineChart {
  std::string x_label;
  std::string y_label;
  bool x_log = false;
  bool y_log = false;
  bool y_is_duration = false;          // in nanoseconds, on a logarithmic axis
  bool dots = true;                    // at the points
  bool x_is_share_of_slowest = false;  // x is 1 / (1 - share): shown as percentiles
  std::vector<Series> series;
};

// SVG in the size of a small picture, for any width; black is the colour of the text around it. Empty where gnuplot is
// not installed or has nothing to draw.
std::string Draw(const BarChart& chart);
std::string Draw(const LineChart& chart);
bool GnuplotIsInstalled();

// A colour for the series of this number, to be seen on white and on black.
std::string_view ColorOf(size_t series);

}  // namespace strongbin::dbbench
