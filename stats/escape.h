// Names and values that users give, made safe for the format they are written into.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strongbin::stats_internal {

// All append to `out`. Bytes that are not UTF-8 become U+FFFD, one for each such byte: one bad name must not make a
// whole page unreadable.

// A JSON string with its quotes.
void AppendJsonString(std::string& out, std::string_view text);
// A Prometheus label value with its quotes.
void AppendLabelValue(std::string& out, std::string_view text);
// The text of a HELP line.
void AppendHelp(std::string& out, std::string_view text);
// A Prometheus label name: [a-zA-Z_][a-zA-Z0-9_]*, other bytes become underscores.
void AppendLabelName(std::string& out, std::string_view text);

// All digits and nothing else, whatever the locale.
void AppendDecimal(std::string& out, uint64_t value);

}  // namespace strongbin::stats_internal
