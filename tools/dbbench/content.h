// What was read or drained, as one number that two engines can be compared by.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "strongbin/tools/dbbench/workload.h"

namespace strongbin::dbbench {

// A hash of one key with its value; never 0.
uint64_t HashEntry(std::string_view key, std::string_view value);

// The sum of the hashes of entries read: the same whatever order they come in. One thread; add up sums after a join.
struct ContentSum {
  uint64_t entries = 0;
  uint64_t hash_sum = 0;

  void Add(std::string_view key, std::string_view value) {
    ++entries;
    hash_sum += HashEntry(key, value);
  }
  void Add(const ContentSum& other) {
    entries += other.entries;
    hash_sum += other.hash_sum;
  }
};

// The content of a store, gathered from drains that come oldest first: of each key the version added last counts, once.
//
// Where the test writes no key twice this is a ContentSum; otherwise it holds one number per key of the data set, so
// that a store that drains table after table is held to the same content as one that merges them. One thread at a time.
// Memory: 8 bytes per key of the data set when keys repeat, taken at construction.
class Ledger {
 public:
  Ledger(const DataSet& data, bool keys_repeat);

  void Add(std::string_view key, std::string_view value) {
    if (hashes_.empty()) {
      sum_.Add(key, value);
    } else {
      AddVersion(key, value);
    }
  }
  // Entries are distinct keys here.
  ContentSum Total() const;

 private:
  void AddVersion(std::string_view key, std::string_view value);

  const DataSet& data_;
  ContentSum sum_;
  std::vector<uint64_t> hashes_;
};

}  // namespace strongbin::dbbench
