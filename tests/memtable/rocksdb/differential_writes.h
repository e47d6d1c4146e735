// Random writes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "strongbin/tests/memtable/rocksdb/differential_keys.h"
#include "strongbin/tests/memtable/rocksdb/differential_operation.h"

namespace strongbin::differential {

// Where keys are taken from: for the round as a whole, or for one of several threads, whose keys no other changes.
struct Place {
  std::string plain;
  std::string single;
  bool shared = false;  // other threads work beside this one
};

class WriteMaker {
 public:
  explicit WriteMaker(const RoundConfig& config) : with_range_deletes_(config.range_deletes != 0), keys_(config) {}

  // One write, or a batch of several.
  Operation Make(const Place& place, Random* random);

 private:
  Operation MakeOne(OpKind kind, const Place& place, Random* random);
  void ChooseSingle(const Place& place, Random* random, Operation* operation);

  const bool with_range_deletes_;
  const KeyMaker keys_;
  std::map<std::string, std::vector<Operation>> single_puts_;  // by region
};

}  // namespace strongbin::differential
