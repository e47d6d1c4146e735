// Runs rounds in processes of their own, and makes a failing one short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "strongbin/tests/memtable/rocksdb/differential_pair.h"

namespace strongbin::differential {

struct Verdict {
  std::string difference;  // empty where both databases gave the same answers
  uint64_t done_count = 0;
  uint64_t kill_count = 0;

  bool same() const { return difference.empty(); }
};

// Runs `round` in new directories, that are gone afterwards. Each process that the round kills is followed by another
// that opens what it left. A process that ends in any other way is a difference, with what it printed.
Verdict RunRound(const Round& round, const FactoryNames& factories);

// A round that still fails, with as few operations and as plain a configuration as at most `run_limit` runs find.
// Not shorter where the failure does not come again.
Round Shrink(const Round& round, uint64_t done_count, const FactoryNames& factories, size_t run_limit);

// What the program is called with for one such process. False where it was not called so.
bool IsRoundProcess(int argc, char** argv);
// The exit status.
int RunRoundProcess(char** argv);

}  // namespace strongbin::differential
