// The text form of bytes and of records whose fields are named numbers.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace strongbin::differential {

// Letters, digits and a few marks as they are, any other byte as %XX. No blank, no '=' and no end of line comes out.
inline std::string Encode(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
                       c == ',' || c == '_' || c == '-';
    if (plain) {
      text += c;
    } else {
      text += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return text;
}

inline std::optional<std::string> Decode(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    unsigned byte = 0;
    if (i + 2 >= text.size() || std::from_chars(&text[i + 1], &text[i] + 3, byte, 16).ptr != &text[i] + 3) return {};
    bytes += static_cast<char>(byte);
    i += 2;
  }
  return bytes;
}

inline std::optional<uint64_t> DecodeNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

template <class Record>
struct NumberField {
  std::string_view name;
  uint64_t Record::*member;
};

// " name=number" for each field that differs from a record as it is made.
template <class Record>
void AppendNumbers(const Record& record, std::span<const NumberField<Record>> fields, std::string* line) {
  const Record unchanged{};
  for (const auto& [name, member] : fields) {
    if (record.*member != unchanged.*member) line->append(" ").append(name) += "=" + std::to_string(record.*member);
  }
}

// False where no field has this name or the text is no number.
template <class Record>
bool SetNumber(std::string_view name, std::string_view text, std::span<const NumberField<Record>> fields,
               Record* record) {
  for (const auto& field : fields) {
    if (field.name != name) continue;
    const std::optional<uint64_t> number = DecodeNumber(text);
    if (number) record->*field.member = *number;
    return number.has_value();
  }
  return false;
}

}  // namespace strongbin::differential
