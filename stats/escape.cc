#include "strongbin/stats/escape.h"

#include <charconv>
#include <cstddef>

namespace strongbin::stats_internal {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The bytes of the UTF-8 sequence that `text` begins with (RFC 3629: no overlong forms, no surrogates, at most
// U+10FFFF), or 0 when it begins with none. `text` is not empty.
size_t Utf8SequenceBytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if (!IsContinuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  if (first == 0xE0 && second < 0xA0) return 0;
  if (first == 0xED && second > 0x9F) return 0;
  if (first == 0xF0 && second < 0x90) return 0;
  if (first == 0xF4 && second > 0x8F) return 0;
  return bytes;
}

// Calls escape(c) for each byte below 0x80; copies the other valid sequences and replaces what is none.
template <class Escape>
void AppendUtf8(std::string& out, std::string_view text, Escape&& escape) {
  while (!text.empty()) {
    const size_t bytes = Utf8SequenceBytes(text);
    if (bytes == 1) {
      escape(text[0]);
    } else if (bytes == 0) {
      out += kReplacement;
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
}

bool IsLetterOrUnderscore(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  out += '"';
  AppendUtf8(out, text, [&](char c) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kHexDigits[static_cast<unsigned char>(c) >> 4];
      out += kHexDigits[static_cast<unsigned char>(c) & 0xF];
    } else {
      out += c;
    }
  });
  out += '"';
}

void AppendHelp(std::string& out, std::string_view text) {
  AppendUtf8(out, text, [&](char c) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\\') out += '\\';
      out += c;
    }
  });
}

void AppendLabelValue(std::string& out, std::string_view text) {
  out += '"';
  AppendUtf8(out, text, [&](char c) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\\' || c == '"') out += '\\';
      out += c;
    }
  });
  out += '"';
}

void AppendLabelName(std::string& out, std::string_view text) {
  if (text.empty() || IsDigit(text[0])) out += '_';
  for (const char c : text) out += IsLetterOrUnderscore(c) || IsDigit(c) ? c : '_';
}

void AppendDecimal(std::string& out, uint64_t value) {
  char digits[20];  // 2^64 - 1 has 20 digits
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value);
  static_cast<void>(error);  // the room suffices for any value
  out.append(digits, end);
}

}  // namespace strongbin::stats_internal
