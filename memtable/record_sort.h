// Sorting of run records by their bits, and of numbers that stand for them.
#pragma once

#include <cstdint>

#include "strongbin/memtable/sorted_run.h"

namespace strongbin {

// Sorts `count` records by the bytes they took from the key; records that agree in those by handle.
// Thread safety: any thread. Allocates a few kilobytes at most. Cost: see docs/decisions/sorting.md.
void SortByBits(RunRecord* records, uint64_t count);

// The same for plain numbers, which takes a quarter of the time.
void SortNumbers(uint64_t* numbers, uint64_t count);

}  // namespace strongbin
