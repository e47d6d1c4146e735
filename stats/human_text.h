// Numbers for people.
#pragma once

#include <cstdint>
#include <string>

namespace strongbin {

// "1,234,567"
std::string WithSeparators(uint64_t value);
// "512 B", "2 KiB", "1.5 MiB": one decimal where it is not 0, rounded to the nearest.
std::string InBinaryUnits(uint64_t bytes);

}  // namespace strongbin
