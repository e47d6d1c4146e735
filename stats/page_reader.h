// Reads the statistics page of another process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strongbin/stats/metrics.h"
#include "strongbin/stats/page_files.h"

namespace strongbin {

// The numbers of one process at one time. Each number is whole; numbers that belong together may have been read a
// moment apart, so the identities hold nearly.
struct PageSnapshot {
  uint64_t pid = 0;
  std::string program;
  uint64_t opened_unix_ns = 0;
  struct Pool {
    std::string name;  // no two are the same
    PoolStats stats;
  };
  std::vector<Pool> pools;
  uint64_t pools_left_out = 0;
  TableStats tables;
  RocksDBStats rocksdb;
};

// One look at a page. What the file holds is believed in no way but as numbers: any bytes at all give a snapshot or a
// refusal. The process is not touched: the file is read, nothing is mapped or locked.
//
// False: `*why` says what is wrong and what to do. Any thread.
bool ReadStatsPage(const std::string& path, PageSnapshot* snapshot, std::string* why);

// The sums and maxima over all pools.
PoolStats SumOfPools(const PageSnapshot& snapshot);

// The pages of this user whose processes run. Removes those whose processes are gone.
std::vector<stats_internal::PageFile> FindStatsPages();

}  // namespace strongbin
