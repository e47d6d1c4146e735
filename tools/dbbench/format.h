// Numbers for people.
#pragma once

#include <cstdint>
#include <string>

namespace strongbin::dbbench {

std::string Grouped(uint64_t number);            // 1234567 -> 1,234,567
std::string Grouped(double number, int digits);  // digits after the point
std::string Significant(double number);          // three digits that count, grouped
std::string Duration(uint64_t ns);               // 950 ns, 12.3 us, 4.56 ms, 1.20 s
std::string Bytes(uint64_t bytes);               // 512 B, 1.50 MiB
std::string Hex(uint64_t number);                // 16 digits
std::string Plain(double number);                // shortest form that reads back the same, in the classic locale

}  // namespace strongbin::dbbench
