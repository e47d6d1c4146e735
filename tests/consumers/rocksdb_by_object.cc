// A program of RocksDB's that sets strongbin up in code, in three lines.
//
// usage: rocksdb_by_object FOLDER
#include <iostream>
#include <memory>
#include <string>

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "strongbin/memtable/rocksdb/rep_factory.h"
#include "strongbin/memtable/rocksdb/rep_stats.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/stats/export.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  rocksdb::Options options;
  options.create_if_missing = true;
  if (!strongbin::ConfigureRocksDB(&options, &options, {.pool_cap_bytes = 1 << 20}).ok()) return 1;

  rocksdb::DB* opened = nullptr;
  if (!rocksdb::DB::Open(options, argv[1], &opened).ok()) return 1;
  std::unique_ptr<rocksdb::DB> db(opened);
  if (!db->Put({}, "key", "value").ok() || !db->Flush({}).ok()) return 1;
  const strongbin::ProcessStats stats = strongbin::Stats();
  std::cout << strongbin::ToText(stats.rocksdb) << strongbin::ToText(stats.pool, {{"pool", "process"}});
  if (stats.rocksdb.memtables == 0 || stats.rocksdb.fallback_memtables != 0) return 1;
  if (strongbin::ChunkPool::Default().cap_bytes() != 1 << 20) return 1;
  strongbin::RelieveMemoryPressure();
  db.reset();
  std::cout << "rocksdb_by_object: good\n";
}
