// Factories of memtables that are RocksDB's skip list with something changed: proof that the differential test finds
// what is wrong, and only that.
#pragma once

namespace strongbin::differential {

// Takes four times the memory, so that memtables are switched and flushed at other operations. Not a fault.
inline constexpr const char* kOtherSize = "skip_list_of_other_size";
inline constexpr const char* kLosesInserts = "skip_list_that_loses_inserts";
inline constexpr const char* kLosesLookups = "skip_list_that_loses_lookups";
inline constexpr const char* kSkipsBackward = "skip_list_that_skips_backward";

// Makes them known by name to MemTableRepFactory::CreateFromString.
void RegisterFaultyFactories();

}  // namespace strongbin::differential
