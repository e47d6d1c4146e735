// What engines say of the chunk pool below them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/stats/metrics.h"
#include "strongbin/tools/dbbench/config.h"
#include "strongbin/tools/dbbench/engine.h"

namespace strongbin::dbbench {

ChunkPoolOptions PoolOptionsOf(const Config& config);
// "pool off, chunks from mmap, huge pages on"
std::string DescribePool(const Config& config);
// What the pool did between two snapshots.
PoolNumbers NumbersOf(const PoolStats& at_open, const PoolStats& now);
PoolGauges GaugesOf(const PoolStats& now);

}  // namespace strongbin::dbbench
