#include "strongbin/memtable/sort_scratch.h"

#include <mutex>
#include <utility>

#include "strongbin/pool/chunk_source.h"
#include "strongbin/pool/fork_guard.h"
#include "strongbin/pool/pressure_hook.h"

namespace strongbin {

namespace {

// Never destroyed: a table with static lifetime may sort after static destructors have begun.
struct Keeper {
  std::mutex mutex;
  void* data = nullptr;
  size_t bytes = 0;
  MmapChunkSource source;
  ForkGuard fork_guard{&mutex};
  PressureHook::Registration pressure = PressureHook::Process().Add([this] { return Drop(); });

  size_t Drop() {
    void* dropped = nullptr;
    size_t dropped_bytes = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      dropped = std::exchange(data, nullptr);
      dropped_bytes = std::exchange(bytes, 0);
    }
    if (dropped == nullptr || !source.Unmap(dropped, dropped_bytes)) return 0;
    return dropped_bytes;
  }
};

Keeper& TheKeeper() {
  static Keeper* const keeper = new Keeper;
  return *keeper;
}
[[gnu::constructor]] void MakeAtLoad() { static_cast<void>(TheKeeper()); }  // see fork_guard.h

}  // namespace

SortScratch SortScratch::Take(size_t bytes) {
  Keeper& keeper = TheKeeper();
  {
    const std::lock_guard<std::mutex> lock(keeper.mutex);
    if (keeper.bytes >= bytes && keeper.data != nullptr) {
      return {std::exchange(keeper.data, nullptr), std::exchange(keeper.bytes, 0)};
    }
  }
  const size_t rounded = (bytes + kSlabBytes - 1) / kSlabBytes * kSlabBytes;
  if (rounded < bytes) return {};
  void* data = keeper.source.Map(rounded, kSlabBytes, /*huge_pages=*/true);
  if (data == nullptr) return {};
  return {data, rounded};
}

SortScratch::~SortScratch() {
  if (data_ == nullptr) return;
  Keeper& keeper = TheKeeper();
  if (bytes_ <= kMaxKeptBytes) {
    // The larger of the two stays.
    const std::lock_guard<std::mutex> lock(keeper.mutex);
    if (keeper.bytes < bytes_) {
      std::swap(keeper.data, data_);
      std::swap(keeper.bytes, bytes_);
    }
  }
  if (data_ != nullptr) keeper.source.Unmap(data_, bytes_);
}

}  // namespace strongbin
