// Finds out whether a memtable is ordered by the bytes of its keys.
#pragma once

#include <rocksdb/memtablerep.h>

namespace strongbin {

// Whether the RocksDB in this process is a version whose private layout this library knows.
bool IsTestedRocksDBVersion();

// Whether `comparator` orders user keys as BytewiseComparator() does. False also when that cannot be told.
//
// RocksDB has no public way from a memtable's comparator to the user's. This reads the private layout of the tested
// versions, by hand and only after the object's own type name has said what it is. Thread safety: any thread. Cost:
// some loads and a string comparison.
bool IsBytewiseOrder(const ROCKSDB_NAMESPACE::MemTableRep::KeyComparator& comparator);

}  // namespace strongbin
