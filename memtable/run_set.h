// What ordered readers share: the runs of a table and its delta.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "strongbin/memtable/ordered_delta.h"
#include "strongbin/memtable/ref_ptr.h"
#include "strongbin/memtable/sorted_run.h"

namespace strongbin {

// The runs, oldest and largest first, and the delta that together cover the log behind the ascending base.
// Once published only the delta and `covered` change, and only while the set is the newest; readers hold on to it.
template <class Face>
struct RunSet : RefCounted<RunSet<Face>> {
  // Each run is at least this many times as large as the one behind it.
  static constexpr uint64_t kSizeRatio = 8;
  // So a full log of 2^31 entries has at most this many.
  static constexpr size_t kMaxRuns = 12;

  std::array<RefPtr<const SortedRun>, kMaxRuns> runs;
  size_t count = 0;
  RefPtr<OrderedDelta<Face>> delta;  // may be null
  // Positions below it are in the base, in a run or in the delta. Release when it grows, acquire to see what it covers.
  mutable std::atomic<uint64_t> covered{0};

  bool Covers(uint64_t end) const { return covered.load(std::memory_order_acquire) >= end; }

  ~RunSet() = default;
};

}  // namespace strongbin
