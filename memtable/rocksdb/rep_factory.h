// The way into RocksDB: a memtable factory, given as an object or found by the name "strongbin".
#pragma once

#include <cstddef>
#include <memory>

#include <rocksdb/memtablerep.h>
#include <rocksdb/status.h>

#include "strongbin/memtable/rocksdb/rep_options.h"

namespace ROCKSDB_NAMESPACE {
struct ColumnFamilyOptions;
struct DBOptions;
}  // namespace ROCKSDB_NAMESPACE

namespace strongbin {

// The name in an options string, an OPTIONS file and db_bench's --memtablerep.
inline constexpr const char* kRocksDBFactoryName = "strongbin";

// A factory of strongbin memtables, for ColumnFamilyOptions::memtable_factory.
//
// It may serve any number of column families and databases; it lives as long as somebody holds it, its memtables may
// live longer. Supports concurrent inserts and finds duplicates of (key, sequence). Thread safety: as RocksDB asks of
// factories: CreateMemTableRep from any thread; configuration before the first use. A memtable whose comparator is not
// the bytewise one is RocksDB's skip list (see RepOrder), which is logged once for a factory and counted.
std::shared_ptr<ROCKSDB_NAMESPACE::MemTableRepFactory> NewAppendOnlyRepFactory(const RepOptions& options = {});
// The same, for whom a single owner is enough.
std::unique_ptr<ROCKSDB_NAMESPACE::MemTableRepFactory> NewUnsharedRepFactory(const RepOptions& options = {});

// Sets both up for strongbin: the factory, and the write buffer manager that it charges. Where db_write_buffer_size
// asks for a limit and there is no manager, one is made here, as DB::Open would. Either pointer may be null.
// InvalidArgument when the library cannot serve these options; nothing has then changed.
ROCKSDB_NAMESPACE::Status ConfigureRocksDB(ROCKSDB_NAMESPACE::DBOptions* db_options,
                                           ROCKSDB_NAMESPACE::ColumnFamilyOptions* cf_options,
                                           const RepOptions& options = {});

// The pressure hook of the process, PressureHook::Process().OnMemoryPressure(): the idle chunks of every pool, and what
// else hangs on it, go to the operating system. Returns the bytes given back. Memtables are not touched. Thread safety:
// any thread, at any time.
size_t RelieveMemoryPressure();

}  // namespace strongbin
