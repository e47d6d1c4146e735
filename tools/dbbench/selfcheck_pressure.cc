// Bounds on what a put costs while the pressure hook gives memory back.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/measure.h"
#include "strongbin/tools/dbbench/selfcheck.h"
#include "strongbin/tools/dbbench/selfcheck_tools.h"

namespace strongbin::dbbench {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr double kBoundNs = 1e6;
constexpr size_t kCapBytes = size_t{64} << 20;

// How long this thread has been ready to run without a core, in nanoseconds.
uint64_t WaitedForCoreNs() {
  FILE* file = std::fopen("/proc/thread-self/schedstat", "r");
  if (file == nullptr) return 0;
  unsigned long long running = 0, waiting = 0;
  if (std::fscanf(file, "%llu %llu", &running, &waiting) != 2) waiting = 0;
  std::fclose(file);
  return waiting;
}

// The longest puts of one thread.
struct LongestPut {
  double cpu_ns = 0;   // by CPU time
  double wall_ns = 0;  // by wall time, without what the thread waited for a core
};

// Fills and empties a table of its own until told to stop.
LongestPut WriteUntil(const std::atomic<bool>& stop, ChunkPool* pool, const Entries& entries) {
  constexpr uint64_t kSlowNs = 50'000;  // below, nobody asks what a put waited for
  LongestPut longest;
  MemtableOptions options;
  options.pool = pool;
  AppendOnlyMemtable table(options);
  uint64_t waited_ns = WaitedForCoreNs();
  while (!stop.load(std::memory_order_relaxed)) {
    double cpu_ns = ThreadNs();
    uint64_t wall_ns = NowNs();
    for (size_t i = 0; i < entries.count() && !stop.load(std::memory_order_relaxed); ++i) {
      static_cast<void>(table.Put(entries.key(i), i + 1, entries.value(i)));
      const uint64_t after_wall_ns = NowNs();
      const double after_cpu_ns = ThreadNs();
      longest.cpu_ns = std::max(longest.cpu_ns, after_cpu_ns - cpu_ns);
      uint64_t took_ns = after_wall_ns - wall_ns;
      if (took_ns > kSlowNs) {
        const uint64_t now_ns = WaitedForCoreNs();
        took_ns -= std::min(took_ns, now_ns - waited_ns);
        waited_ns = now_ns;
      }
      longest.wall_ns = std::max(longest.wall_ns, static_cast<double>(took_ns));
      cpu_ns = ThreadNs();
      wall_ns = NowNs();
    }
    static_cast<void>(table.ResetWarm());
  }
  return longest;
}

// What `writers` threads met while `beside` ran on another.
LongestPut Meet(size_t writers, ChunkPool* pool, const Entries& entries, const std::function<void()>& beside) {
  std::atomic<bool> stop = false;
  std::vector<LongestPut> met(writers);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < writers; ++i) {
    threads.emplace_back([&, i] { met[i] = WriteUntil(stop, pool, entries); });
  }
  beside();
  stop = true;
  LongestPut longest;
  for (size_t i = 0; i < writers; ++i) {
    threads[i].join();
    longest.cpu_ns = std::max(longest.cpu_ns, met[i].cpu_ns);
    longest.wall_ns = std::max(longest.wall_ns, met[i].wall_ns);
  }
  return longest;
}

std::unique_ptr<ChunkPool> NewPool() {
  ChunkPoolOptions options;
  options.cap_bytes = kCapBytes;
  options.cold_start = kRocksDBColdStart;
  return std::make_unique<ChunkPool>(options);
}

CheckRow BesideTheHook(const std::string& name, const std::vector<double>& with, const std::vector<double>& without) {
  return {name, "<= 1 ms above the run without the hook",
          Duration(static_cast<uint64_t>(Median(with))) + " beside " +
              Duration(static_cast<uint64_t>(Median(without))) + " (medians of " + Grouped(uint64_t{with.size()}) +
              " runs)",
          Median(with) <= Median(without) + kBoundNs};
}

// One writer, the hook every 100 ms.
std::vector<CheckRow> HookBesideAWriter(const CheckContext& context) {
  constexpr int kPairs = 3;
  constexpr int kCalls = 30;
  const Entries entries(400'000, /*sorted=*/false, context.config.seed);
  std::vector<double> with, without;
  for (int pair = 0; pair < kPairs; ++pair) {
    for (const bool calls : {false, true}) {
      const std::unique_ptr<ChunkPool> pool = NewPool();
      const LongestPut longest = Meet(1, pool.get(), entries, [&] {
        for (int call = 0; call < kCalls; ++call) {
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          if (calls) pool->OnMemoryPressure();
        }
      });
      (calls ? with : without).push_back(longest.cpu_ns);
    }
  }
  return {BesideTheHook("longest put by thread CPU time, hook every 100 ms, one writer", with, without)};
}

// Four writers, a pool full of the smallest chunks that the hook empties again and again.
std::vector<CheckRow> HookOnManySmallChunks(const CheckContext& context) {
  constexpr int kPairs = 3;
  constexpr int kCalls = 10;
  constexpr size_t kWriters = 4;
  const Entries entries(50'000, /*sorted=*/false, context.config.seed);
  std::vector<double> with, without, hook_ms;
  bool all_returned = true;
  for (int pair = 0; pair < kPairs; ++pair) {
    for (const bool calls : {false, true}) {
      const std::unique_ptr<ChunkPool> pool = NewPool();
      const LongestPut longest = Meet(kWriters, pool.get(), entries, [&] {
        std::vector<Chunk> chunks(kCapBytes / kMinChunkBytes);
        for (int call = 0; call < kCalls; ++call) {
          for (Chunk& chunk : chunks) chunk = pool->Acquire(kMinChunkBytes, ChunkKind::k_key);
          for (const Chunk& chunk : chunks) chunk.data[0] = 1;  // resident
          ChunkPool::Release(chunks);
          const uint64_t start_ns = NowNs();
          if (calls) {
            all_returned &= pool->OnMemoryPressure() > kCapBytes / 2;  // writers keep some of it from coming back
            hook_ms.push_back(static_cast<double>(NowNs() - start_ns) / kNsPerMs);
          }
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
      });
      (calls ? with : without).push_back(longest.wall_ns);
    }
  }
  return {
      BesideTheHook("longest put of 4 writers (waiting for a core not counted), hook on 32,768 idle chunks of 2 KiB",
                    with, without),
      {"the hook on 32,768 idle chunks of 2 KiB, beside 4 writers", "", Spread(hook_ms, " ms"), all_returned}};
}

constexpr std::array<Check, 2> kChecks = {&HookBesideAWriter, &HookOnManySmallChunks};

}  // namespace

std::span<const Check> PressureChecks() { return kChecks; }

}  // namespace strongbin::dbbench
