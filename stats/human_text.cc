#include "strongbin/stats/human_text.h"

#include <array>
#include <string_view>

#include "strongbin/stats/escape.h"

namespace strongbin {

using stats_internal::AppendDecimal;

std::string WithSeparators(uint64_t value) {
  std::string text;
  AppendDecimal(text, value);
  for (size_t from_end = 3; from_end < text.size(); from_end += 4) text.insert(text.size() - from_end, ",");
  return text;
}

std::string InBinaryUnits(uint64_t bytes) {
  constexpr std::array<std::string_view, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  uint64_t tenths = bytes * 10;
  while (unit + 1 < kUnits.size() && (unit == 0 ? bytes >= 1024 : tenths >= 10240)) {
    ++unit;
    // Whole and rest apart: ten times the whole number of bytes may not fit.
    const uint64_t one = uint64_t{1} << (10 * unit);
    tenths = bytes / one * 10 + (bytes % one * 10 + one / 2) / one;
  }
  std::string text = WithSeparators(tenths / 10);
  if (tenths % 10 != 0) {
    text += '.';
    AppendDecimal(text, tenths % 10);
  }
  text += ' ';
  text += kUnits[unit];
  return text;
}

}  // namespace strongbin
