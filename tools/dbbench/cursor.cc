#include "strongbin/tools/dbbench/cursor.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "strongbin/arena/monotonic_arena.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/tools/dbbench/environment.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/gate/statistics.h"
#include "strongbin/tools/dbbench/selfcheck_tools.h"

namespace strongbin::dbbench {
namespace {

constexpr size_t kGrowingBufferBytes = size_t{64} << 10;
constexpr size_t kGrowingBytes = size_t{64} << 20;

// First fit from the first buffer on, over the same chunks: what the cursor replaces.
class Walk {
 public:
  Walk(ChunkPool* pool, size_t buffer_bytes) : pool_(pool), buffer_bytes_(buffer_bytes) {}
  ~Walk() {
    for (const Buffer& buffer : buffers_) ChunkPool::Release(buffer.chunk);
  }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  char* Allocate(size_t bytes) {
    for (Buffer& buffer : buffers_) {
      ++examined_;
      if (buffer.chunk.bytes - buffer.used_bytes < bytes) continue;
      buffer.used_bytes += bytes;
      return buffer.chunk.data + buffer.used_bytes - bytes;
    }
    buffers_.push_back({pool_->Acquire(buffer_bytes_, ChunkKind::k_key), bytes});
    return buffers_.back().chunk.data;
  }
  size_t buffer_count() const { return buffers_.size(); }
  uint64_t buffers_examined() const { return examined_; }

 private:
  struct Buffer {
    Chunk chunk;
    size_t used_bytes;
  };
  ChunkPool* const pool_;
  const size_t buffer_bytes_;
  std::vector<Buffer> buffers_;
  uint64_t examined_ = 0;
};

template <class Arena>
CursorCost Growing(Arena& arena) {
  constexpr size_t kCount = kGrowingBytes / kCursorBytes / 8;
  const double start = ThreadNs();
  for (size_t n = 0; n < kCount; ++n) {
    char* allocated = arena.Allocate(kCursorBytes + n % 15 * kCursorBytes);
    asm volatile("" : : "r"(allocated) : "memory");
  }
  return {(ThreadNs() - start) / kCount, arena.buffers_examined()};
}

Row RowOf(const std::string& arena, const std::string& test, uint64_t allocations,
          const std::vector<CursorCost>& rounds) {
  std::vector<double> times;
  for (const CursorCost& round : rounds) times.push_back(round.ns);
  Row row;
  row.engine = arena;
  row.test = test;
  row.round = "median of " + std::to_string(rounds.size());
  row.timing = "all";
  row.loop = "closed";
  row.finished = row.measured = true;
  row.planned_operations = row.operations = allocations;
  row.us_per_op = row.cpu_us_per_op = Median(times) / 1e3;
  row.wall_seconds = row.us_per_op * static_cast<double>(allocations) / 1e6;
  row.ops_per_second = 1e6 / row.us_per_op;
  row.note = Grouped(rounds.back().examined) + " buffers looked into; " + Spread(times, " ns");
  return row;
}

}  // namespace

Report RunCursor(const Config& config) {
  Report report;
  report.environment = DescribeEnvironment(".");
  report.settings = DescribeSettings(config);
  report.parameters = PlainParameters(config);
  report.notes = BuildWarnings();
  report.notes.push_back("Times are those of the thread's processor clock, medians of rounds that alternate.");
  ChunkPoolOptions options;
  options.cap_bytes = size_t{2} << 30;
  ChunkPool pool(options);
  for (const size_t behind : kBuffersBehind) {
    std::vector<CursorCost> cursor, walk;
    const size_t walked = std::min<size_t>(kCursorAllocations, 10'000'000 / behind);
    for (int round = 0; round < kCursorRounds; ++round) {
      MonotonicArena arena({.pool = &pool, .min_buffer_bytes = kMaxChunkBytes});
      cursor.push_back(AllocateBehind(arena, behind, kCursorAllocations));
      Walk first_fit(&pool, kMaxChunkBytes);
      walk.push_back(AllocateBehind(first_fit, behind, walked));
    }
    const std::string test = "cursor_behind_" + std::to_string(behind);
    report.rows.push_back(RowOf("arena", test, kCursorAllocations, cursor));
    report.rows.push_back(RowOf("walk from the first buffer", test, walked, walk));
  }
  std::vector<CursorCost> cursor, walk;
  for (int round = 0; round < 3; ++round) {
    MonotonicArena arena({.pool = &pool, .min_buffer_bytes = kGrowingBufferBytes});
    cursor.push_back(Growing(arena));
    Walk first_fit(&pool, kGrowingBufferBytes);
    walk.push_back(Growing(first_fit));
  }
  report.rows.push_back(RowOf("arena", "cursor_growing", kGrowingBytes / kCursorBytes / 8, cursor));
  report.rows.push_back(RowOf("walk from the first buffer", "cursor_growing", kGrowingBytes / kCursorBytes / 8, walk));
  return report;
}

}  // namespace strongbin::dbbench
