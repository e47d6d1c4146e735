// What a user of the RocksDB face can choose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <rocksdb/rocksdb_namespace.h>

namespace ROCKSDB_NAMESPACE {
class WriteBufferManager;
}  // namespace ROCKSDB_NAMESPACE

namespace strongbin {

// Which column families get our memtable; the others get RocksDB's skip list.
enum class RepOrder : uint8_t {
  kAuto,      // those with the bytewise comparator, found out memtable by memtable
  kBytewise,  // also those whose comparator cannot be told: the user answers for it. DB::Open refuses any other
  kFallback,  // none: the skip list everywhere
};

enum class RepPool : uint8_t {
  kProcess,  // chunks of all memtables of the process come from one pool
  kOwn,      // the factory has a pool to itself
};

// How fresh memory is prepared; see docs/rocksdb.md. Chunks that come out of a bin need nothing.
enum class RepColdStart : uint8_t {
  kAuto,  // huge pages for large chunks where the kernel has them cheaply, populated small pages for the rest, and for
          // a memtable that grows beyond 4 MiB the next pages ahead of the writer, by one thread of the process
  kHugePages,  // huge pages alone
  kPopulate,   // no huge pages; small pages are populated a chunk at a time
  kNone,       // each page is made when it is first touched
};

// The fields up to `stats_page` are also options of RocksDB's string form, under the same names and with the
// values named in docs/rocksdb.md.
struct RepOptions {
  RepOrder order = RepOrder::kAuto;
  RepPool pool = RepPool::kProcess;
  // Bound on the idle bytes of the pool. With pool = kProcess the last factory whose first memtable is made decides.
  size_t pool_cap_bytes = size_t{64} << 20;
  // Idle chunks that have been idle for this long go to the operating system. 0: they stay. Decided as pool_cap_bytes
  // is.
  uint64_t pool_decay_ms = 0;
  RepColdStart cold_start = RepColdStart::kAuto;
  // Give the idle chunks to the operating system when the last memtable of the pool is gone.
  bool drop_pool_when_unused = false;
  // Watch the system's and the cgroup's memory pressure, and call the process's hook for it. One monitor serves all
  // factories. Where it cannot be started, DB::Open answers NotSupported and says why.
  bool pressure_monitor = false;
  // Show the statistics of the process to strongbin-stat, see docs/statistics.md. Once open, the page stays.
  bool stats_page = false;
  // Charged for all chunks that memtables hold. Null: the manager of the database, if DB::Open shows it to the factory.
  std::shared_ptr<ROCKSDB_NAMESPACE::WriteBufferManager> write_buffer_manager = {};
};

}  // namespace strongbin
