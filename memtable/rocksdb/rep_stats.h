// The numbers of all strongbin memtables of the process, while RocksDB runs.
#pragma once

#include "strongbin/stats/metrics.h"

namespace strongbin {

struct ProcessStats {
  PoolStats pool;        // the pool of the process; factories with pool=own have pools beside it
  TableStats memtables;  // gauges of those alive, counters of all that ever were
  RocksDBStats rocksdb;
};

// A snapshot of now. Thread safety: any thread, at any time. Cost: a look at every memtable alive, each under its
// writers' lock for some hundred nanoseconds.
ProcessStats Stats();

}  // namespace strongbin
