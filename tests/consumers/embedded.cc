// Uses each installed header of the embedded component once.
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strongbin/arena/key_arena.h"
#include "strongbin/arena/monotonic_arena.h"
#include "strongbin/arena/value_arena.h"
#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/pool/chunk_source.h"
#include "strongbin/pool/pressure_hook.h"
#include "strongbin/pool/pressure_monitor.h"
#include "strongbin/stats/export.h"
#include "strongbin/stats/snapshot.h"
#include "strongbin/stats/stats_page.h"

namespace {

void Require(bool holds, std::string_view what) {
  if (holds) return;
  std::cerr << "does not hold: " << what << '\n';
  std::exit(1);
}

// Memory of the program's own making.
class CountingSource : public strongbin::MmapChunkSource {
 public:
  void* Map(size_t bytes, size_t alignment, bool huge_pages) override {
    ++map_count;
    return MmapChunkSource::Map(bytes, alignment, huge_pages);
  }
  int map_count = 0;
};

void UseTable() {
  CountingSource source;
  strongbin::ChunkPool pool({.decay_ms = 60'000, .custom_source = &source});
  {
    strongbin::AppendOnlyMemtable table({.pool = &pool, .pool_at_end = strongbin::PoolAtEnd::kKeep});
    const std::vector<strongbin::Write> batch = {{.key = "b", .sequence = 1, .value = "2"},
                                                 {.key = "a", .sequence = 2, .value = "1"}};
    Require(table.AppendBatch(batch).ok(), "a batch is appended");
    Require(table
                .AppendFilled({.key = "c", .sequence = 3}, 1,
                              [](std::span<char> room) {
                                room[0] = '3';
                                return true;
                              })
                .ok(),
            "a value is written in place");
    Require(table.Put("c", 3, "again").code() == strongbin::Status::Code::kDuplicate, "a duplicate is told");
    table.Freeze();
    std::string keys;
    {
      const strongbin::ReadPin pin = table.Pin();
      Require(table.Get("a").value == "1", "what was written is found");
      strongbin::MemtableIterator it = table.NewIterator();
      for (it.SeekToFirst(); it.Valid(); it.Next()) keys += it.key();
      Require(it.status().ok() && keys == "abc", "iteration is in order");
      Require(table.ResetWarm().code() == strongbin::Status::Code::kBusy, "a pin holds a reset off");
    }
    Require(table.ResetWarm().ok(), "an unpinned table is reset");
    std::cout << strongbin::ToText(table.Stats(), {{"table", "t"}});
  }
  const strongbin::PoolStats before = pool.Stats();
  Require(pool.OnMemoryPressure() > 0, "idle chunks go back");
  const strongbin::PoolStats change = strongbin::Diff(pool.Stats(), before);
  Require(change.pressure_calls == 1 && source.map_count > 0, "the pool has counted");
  std::cout << strongbin::ToJson(change, {{"pool", "p"}}) << strongbin::ToPrometheus(change);
}

void UseArenas() {
  strongbin::ChunkPool pool;
  strongbin::KeyArena keys({.pool = &pool});
  strongbin::ValueArena values({.pool = &pool});
  strongbin::MonotonicArena anything({.pool = &pool});
  for (strongbin::MonotonicArena* arena : {static_cast<strongbin::MonotonicArena*>(&keys), &anything}) {
    Require(arena->Allocate(100, 8) != nullptr && arena->used_bytes() == 100, "an arena hands out bytes");
  }
  Require(values.Allocate(1, 1) != nullptr, "so does that of values");
}

void UsePressure() {
  bool is_called = false;
  const strongbin::PressureHook::Registration cache = strongbin::PressureHook::Process().Add([&is_called] {
    is_called = true;
    return size_t{0};
  });
  strongbin::PressureHook::Process().OnMemoryPressure();
  Require(is_called, "a cache on the hook is asked to shrink");
  std::string report;
  const std::unique_ptr<strongbin::PressureMonitor> monitor = strongbin::PressureMonitor::Start({}, &report);
  Require(!report.empty(), "the monitor tells what it watches");
}

}  // namespace

int main() {
  std::string why;
  Require(strongbin::OpenStatsPage(&why) || !why.empty(), "the page opens, or the reason is told");
  UseTable();
  UseArenas();
  UsePressure();
  Require(strongbin::ChunkPool::Default().cap_bytes() > 0, "there is a pool of the process");
  std::cout << "embedded: good\n";
}
