#include "strongbin/tools/dbbench/pool_numbers.h"

#include "strongbin/stats/snapshot.h"
#include "strongbin/tools/dbbench/format.h"

namespace strongbin::dbbench {

ChunkPoolOptions PoolOptionsOf(const Config& config) {
  ChunkPoolOptions options;
  options.cap_bytes = config.pool_cap_bytes;
  options.source = config.chunk_source == SourceChoice::kMmap ? ChunkSourceKind::kMmapSlab : ChunkSourceKind::kMalloc;
  options.cold_start.huge_pages = config.huge_pages;
  return options;
}

std::string DescribePool(const Config& config) {
  std::string text = "pool ";
  text += config.pool_cap_bytes == 0 ? "off (every chunk is mapped fresh and unmapped again)"
                                     : "of at most " + Bytes(config.pool_cap_bytes) + " idle";
  text += ", chunks from " + std::string(kSourceNames[Index(config.chunk_source)]);
  return text + ", huge pages " + std::string(kSwitchNames[config.huge_pages ? 1 : 0]);
}

PoolNumbers NumbersOf(const PoolStats& at_open, const PoolStats& now) {
  const PoolStats since = Diff(now, at_open);
  PoolNumbers numbers;
  numbers.fresh_chunks = since.fresh_chunks;
  numbers.fresh_chunk_bytes = since.fresh_chunk_bytes;
  numbers.gets = SumOfLabels(since.gets);
  numbers.hits = SumOfLabels(since.hits);
  numbers.mapped_bytes = SumOfLabels(since.fresh_bytes);
  numbers.admission_drop_bytes = SumOfLabels(since.admission_drop_bytes);
  numbers.cap_bytes = now.cap_bytes;
  numbers.lent_bytes_max = now.lent_bytes_max;
  numbers.idle_bytes_max = now.idle_bytes_max;
  return numbers;
}

PoolGauges GaugesOf(const PoolStats& now) { return {SumOfLabels(now.idle_bytes), SumOfLabels(now.lent_bytes)}; }

}  // namespace strongbin::dbbench
