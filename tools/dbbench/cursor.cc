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

constexpr std::array<size_t, 3> kBehind = {10, 100, 1000};
constexpr size_t kBytes = 16;
constexpr size_t kAllocations = 45'000;  // fit into what is left of the buffer they begin in
constexpr int kRounds = 21;
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

struct Measured {
  double ns = 0;  // per allocation
  uint64_t examined = 0;
};

template <class Arena>
Measured Behind(Arena& arena, size_t behind, size_t allocations) {
  while (arena.buffer_count() <= behind) {
    if (arena.Allocate(kMaxChunkBytes / 4) == nullptr) break;
  }
  const uint64_t before = arena.buffers_examined();
  const double start = ThreadNs();
  for (size_t n = 0; n < allocations; ++n) {
    char* allocated = arena.Allocate(kBytes);
    asm volatile("" : : "r"(allocated) : "memory");
  }
  return {(ThreadNs() - start) / static_cast<double>(allocations), arena.buffers_examined() - before};
}

template <class Arena>
Measured Growing(Arena& arena) {
  constexpr size_t kCount = kGrowingBytes / kBytes / 8;
  const double start = ThreadNs();
  for (size_t n = 0; n < kCount; ++n) {
    char* allocated = arena.Allocate(kBytes + n % 15 * kBytes);
    asm volatile("" : : "r"(allocated) : "memory");
  }
  return {(ThreadNs() - start) / kCount, arena.buffers_examined()};
}

Row RowOf(const std::string& arena, const std::string& test, uint64_t allocations,
          const std::vector<Measured>& rounds) {
  std::vector<double> times;
  for (const Measured& round : rounds) times.push_back(round.ns);
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
  for (const size_t behind : kBehind) {
    std::vector<Measured> cursor, walk;
    const size_t walked = std::min<size_t>(kAllocations, 10'000'000 / behind);
    for (int round = 0; round < kRounds; ++round) {
      MonotonicArena arena({.pool = &pool, .min_buffer_bytes = kMaxChunkBytes});
      cursor.push_back(Behind(arena, behind, kAllocations));
      Walk first_fit(&pool, kMaxChunkBytes);
      walk.push_back(Behind(first_fit, behind, walked));
    }
    const std::string test = "cursor_behind_" + std::to_string(behind);
    report.rows.push_back(RowOf("arena", test, kAllocations, cursor));
    report.rows.push_back(RowOf("walk from the first buffer", test, walked, walk));
  }
  std::vector<Measured> cursor, walk;
  for (int round = 0; round < 3; ++round) {
    MonotonicArena arena({.pool = &pool, .min_buffer_bytes = kGrowingBufferBytes});
    cursor.push_back(Growing(arena));
    Walk first_fit(&pool, kGrowingBufferBytes);
    walk.push_back(Growing(first_fit));
  }
  report.rows.push_back(RowOf("arena", "cursor_growing", kGrowingBytes / kBytes / 8, cursor));
  report.rows.push_back(RowOf("walk from the first buffer", "cursor_growing", kGrowingBytes / kBytes / 8, walk));
  return report;
}

}  // namespace strongbin::dbbench
