// Finds out how a memtable is ordered.
#pragma once

#include <rocksdb/memtablerep.h>

namespace ROCKSDB_NAMESPACE {
class Comparator;
}  // namespace ROCKSDB_NAMESPACE

namespace strongbin {

// Whether the RocksDB in this process is a version whose private layout this library knows.
bool IsTestedRocksDBVersion();

// The user's comparator, by which a memtable's `comparator` orders user keys; null when it cannot be told.
//
// RocksDB has no public way from the one to the other. This reads the private layout of the tested versions, by hand
// and only after the object's own type name has said what it is. Thread safety: any thread. Cost: some loads and a
// string comparison.
const ROCKSDB_NAMESPACE::Comparator* UserComparator(const ROCKSDB_NAMESPACE::MemTableRep::KeyComparator& comparator);

}  // namespace strongbin
