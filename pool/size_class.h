// The ten power-of-two size classes, 2 KiB to 1 MiB.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "strongbin/stats/metrics.h"

namespace strongbin {

inline constexpr size_t kMinChunkBytes = size_t{2} << 10;
inline constexpr size_t kMaxChunkBytes = size_t{1} << 20;
inline constexpr size_t kSizeClassCount = 10;
// The place of oversize blocks in per-class statistics; no size class.
inline constexpr size_t kOversizeSlot = kSizeClassCount;
static_assert(kMinChunkBytes << (kSizeClassCount - 1) == kMaxChunkBytes);
static_assert(kOversizeSlot + 1 == kClassSlotCount);

// The bytes of a chunk of class `size_class`, all of them usable.
constexpr size_t ClassBytes(size_t size_class) { return kMinChunkBytes << size_class; }

// The smallest class that holds `min_bytes`, or kOversizeSlot when none does.
constexpr size_t ClassFor(size_t min_bytes) {
  if (min_bytes <= kMinChunkBytes) return 0;
  if (min_bytes > kMaxChunkBytes) return kOversizeSlot;
  return static_cast<size_t>(std::bit_width(min_bytes - 1)) - static_cast<size_t>(std::bit_width(kMinChunkBytes - 1));
}

}  // namespace strongbin
