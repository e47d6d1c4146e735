// From a seed to a round, and what a list of operations must keep to.
#pragma once

#include <vector>

#include "strongbin/tests/memtable/rocksdb/differential_operation.h"

namespace strongbin::differential {

// The same round for the same configuration, on every machine.
Round GenerateRound(const RoundConfig& config);

// Drops what RocksDB leaves undefined: SingleDelete of a key that was not put exactly once before or was changed in
// another way, and ranges that end before they start. What is left of a legal list after any of its operations is taken
// out is made legal again by this.
void DropUndefined(std::vector<Operation>* operations);

}  // namespace strongbin::differential
