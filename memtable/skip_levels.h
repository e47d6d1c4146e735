// How high the nodes of skip lists are.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace strongbin {

// Levels of the node that stands for an entry, 1 to `most`: one more with probability 1/4 each, by a fixed scramble of
// the entry's handle, so that nothing need be stored.
inline uint32_t SkipLevels(uint32_t handle, uint32_t most) {
  const uint64_t scrambled = (uint64_t{handle} + 1) * uint64_t{0x9E3779B97F4A7C15};
  const auto zeros = static_cast<uint32_t>(std::countl_zero(scrambled | 1));
  return std::min(1 + zeros / 2, most);
}

}  // namespace strongbin
