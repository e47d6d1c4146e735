#include "strongbin/tools/dbbench/format.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>

namespace strongbin::dbbench {
namespace {

std::string GroupDigits(std::string digits) {
  const size_t point = digits.find('.');
  size_t position = point == std::string::npos ? digits.size() : point;
  const size_t first = !digits.empty() && digits[0] == '-' ? 1 : 0;
  while (position > first + 3) {
    position -= 3;
    digits.insert(position, 1, ',');
  }
  return digits;
}

std::string Fixed(double number, int digits) {
  std::array<char, 64> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, digits);
  return end.ec == std::errc() ? std::string(text.data(), end.ptr) : Plain(number);
}

}  // namespace

std::string Grouped(uint64_t number) { return GroupDigits(std::to_string(number)); }

std::string Grouped(double number, int digits) { return GroupDigits(Fixed(number, digits)); }

std::string Significant(double number) {
  if (number == 0 || !std::isfinite(number)) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::fabs(number))));
  return Grouped(number, magnitude >= 2 ? 0 : (magnitude < -4 ? 6 : 2 - magnitude));
}

std::string Duration(uint64_t ns) {
  const double value = static_cast<double>(ns);
  if (ns < 1000) return std::to_string(ns) + " ns";
  if (value < 1e6) return Significant(value / 1e3) + " us";
  if (value < 1e9) return Significant(value / 1e6) + " ms";
  return Significant(value / 1e9) + " s";
}

std::string Bytes(uint64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (bytes < 1024) return std::to_string(bytes) + " B";
  if (value < 1024.0 * 1024) return Significant(value / 1024) + " KiB";
  if (value < 1024.0 * 1024 * 1024) return Significant(value / (1024.0 * 1024)) + " MiB";
  return Significant(value / (1024.0 * 1024 * 1024)) + " GiB";
}

std::string Hex(uint64_t number) {
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; number >>= 4) text[i] = "0123456789abcdef"[number & 15];
  return text;
}

std::string Plain(double number) {
  if (!std::isfinite(number)) return "0";
  std::array<char, 64> text;
  return std::string(text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr);
}

}  // namespace strongbin::dbbench
