// What the command line of a differential test says.
#pragma once

#include <cstdint>
#include <string>

#include "strongbin/tests/memtable/rocksdb/differential_pair.h"

namespace strongbin::differential {

// --steps=N --seed=S --factory=NAME --replay=FILE
struct Arguments {
  uint64_t step_count = 0;  // 0: as many as the test chooses
  uint64_t seed = 1;        // of the first round; the next ones follow
  FactoryNames factories;
  std::string replay_file;
};

const Arguments& GetArguments();

}  // namespace strongbin::differential
