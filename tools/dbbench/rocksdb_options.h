// How every RocksDB that takes part in a test is set up.
#pragma once

#include <rocksdb/options.h>

namespace strongbin::dbbench {

// Nothing waits for background work while a test writes: no compression, flushes run beside the writes, no compaction
// follows. An 8 MiB block cache of its own.
rocksdb::Options QuietRocksDbOptions();

}  // namespace strongbin::dbbench
