#include "strongbin/tools/dbbench/rocksdb_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/table.h>

namespace strongbin::dbbench {

rocksdb::Options QuietRocksDbOptions() {
  constexpr int kNoTrigger = 1 << 30;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.disable_auto_compactions = true;
  options.level0_file_num_compaction_trigger = kNoTrigger;
  options.level0_slowdown_writes_trigger = kNoTrigger;
  options.level0_stop_writes_trigger = kNoTrigger;
  options.avoid_flush_during_shutdown = true;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(size_t{8} << 20);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace strongbin::dbbench
