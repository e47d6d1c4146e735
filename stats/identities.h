// What holds between the numbers of a snapshot, as metrics.def says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strongbin/stats/metrics.h"

namespace strongbin {

struct Identity {
  std::string_view group;  // what it is about: "pool", "table", "rocksdb"
  std::string_view label;  // holds for each value of this label; empty: for the sums
  std::string_view text;   // "gets == hits + misses"
  std::string_view help;
};
std::vector<Identity> AllIdentities();

// Those that do not hold, one a line, with the label where there is one; empty when all is well. For snapshots at quiet
// points: numbers that are read while they change may be a moment apart.
std::string BrokenIdentities(const PoolStats& stats);
std::string BrokenIdentities(const TableStats& stats);
std::string BrokenIdentities(const RocksDBStats& stats);

}  // namespace strongbin
