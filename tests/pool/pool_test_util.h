// What tests of pools and arenas share: a source that counts and refuses, and the identities of the statistics.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/pool/chunk_source.h"

namespace strongbin {

// Memory of the operating system that counts its calls and refuses when told to. Fails the test when what is unmapped
// was not mapped, and when it goes away before all is given back.
class TestSource : public MmapChunkSource {
 public:
  explicit TestSource(bool carves = true) : carves_(carves) {}
  ~TestSource() override { EXPECT_TRUE(mapped_.empty()) << mapped_.size() << " mappings were not given back"; }

  bool carves_slabs() const override { return carves_; }

  void* Map(size_t bytes, size_t alignment, bool huge_pages) override {
    const uint64_t call = ++map_calls;
    if (refuse_map && refuse_map(call)) return nullptr;
    void* ptr = MmapChunkSource::Map(bytes, alignment, huge_pages);
    if (ptr == nullptr) return nullptr;
    mapped_bytes += bytes;
    (huge_pages ? huge_maps : small_page_maps)++;
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(mapped_.emplace(ptr, bytes).second);
    return ptr;
  }

  bool Unmap(void* ptr, size_t bytes) override {
    unmap_calls++;
    if (refuse_unmap) return false;
    if (on_unmap) on_unmap();
    unmapped_bytes += bytes;
    {
      const std::lock_guard lock(mutex_);
      EXPECT_EQ(mapped_.erase({ptr, bytes}), 1u) << "unmapped what was not mapped";
    }
    return MmapChunkSource::Unmap(ptr, bytes);
  }

  bool Discard(void* ptr, size_t bytes) override {
    discard_calls++;
    if (refuse_discard) return false;
    if (on_discard) on_discard();
    EXPECT_LE(bytes, kGiveBackStepBytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(ptr) % page_bytes(), 0u);
    EXPECT_EQ(bytes % page_bytes(), 0u);
    return MmapChunkSource::Discard(ptr, bytes);
  }

  void Populate(void* ptr, size_t bytes) override {
    populated_bytes += bytes;
    MmapChunkSource::Populate(ptr, bytes);
  }

  uint64_t give_back_calls() const { return unmap_calls + discard_calls; }

  // Set at quiet points only.
  std::function<bool(uint64_t call)> refuse_map;
  std::function<void()> on_unmap;
  std::function<void()> on_discard;
  std::atomic<bool> refuse_unmap = false;
  std::atomic<bool> refuse_discard = false;

  std::atomic<uint64_t> map_calls = 0;
  std::atomic<uint64_t> huge_maps = 0;
  std::atomic<uint64_t> small_page_maps = 0;
  std::atomic<uint64_t> unmap_calls = 0;
  std::atomic<uint64_t> discard_calls = 0;
  std::atomic<uint64_t> mapped_bytes = 0;
  std::atomic<uint64_t> unmapped_bytes = 0;
  std::atomic<uint64_t> populated_bytes = 0;

 private:
  const bool carves_;
  std::mutex mutex_;
  std::set<std::pair<void*, size_t>> mapped_;
};

inline ChunkPoolOptions PoolOptions(size_t cap_bytes, ChunkSource* source = nullptr) {
  ChunkPoolOptions options;
  options.cap_bytes = cap_bytes;
  options.custom_source = source;
  return options;
}

template <size_t N>
uint64_t Sum(const std::array<uint64_t, N>& cells) {
  return std::accumulate(cells.begin(), cells.end(), uint64_t{0});
}

// What holds whenever the pool's lock is free.
inline void ExpectIdentities(const PoolStats& stats) {
  for (size_t slot = 0; slot < kClassSlotCount; slot++) {
    SCOPED_TRACE(kClassLabels[slot]);
    EXPECT_EQ(stats.gets[slot], stats.hits[slot] + stats.misses[slot]);
    EXPECT_EQ(stats.fresh_bytes[slot] - stats.returned_bytes[slot],
              stats.idle_bytes[slot] + stats.lent_bytes[slot] + stats.slab_free_bytes[slot]);
    EXPECT_LE(stats.returned_bytes[slot], stats.fresh_bytes[slot]);
    EXPECT_LE(stats.idle_bytes[slot], stats.class_idle_bytes_max[slot]);
    EXPECT_LE(stats.lent_bytes[slot], stats.class_lent_bytes_max[slot]);
    if (slot == kOversizeSlot) continue;
    EXPECT_EQ(stats.idle_bytes[slot] % ClassBytes(slot), 0u);
    EXPECT_EQ(stats.lent_bytes[slot] % ClassBytes(slot), 0u);
    EXPECT_EQ(stats.drop_bytes[slot], stats.drops[slot] * ClassBytes(slot));
    EXPECT_EQ(stats.admission_drop_bytes[slot], stats.admission_drops[slot] * ClassBytes(slot));
    EXPECT_EQ(stats.eviction_bytes[slot], stats.evictions[slot] * ClassBytes(slot));
  }
  EXPECT_EQ(Sum(stats.gets), Sum(stats.kind_gets));
  EXPECT_EQ(Sum(stats.misses), Sum(stats.fresh_chunks));
  EXPECT_LE(Sum(stats.idle_bytes), stats.cap_bytes);
  EXPECT_LE(Sum(stats.idle_bytes), stats.idle_bytes_max);
  EXPECT_LE(stats.idle_bytes_max, stats.cap_bytes);
  EXPECT_LE(Sum(stats.lent_bytes), stats.lent_bytes_max);
  EXPECT_EQ(stats.idle_bytes[kOversizeSlot], 0u);
}

inline std::vector<Chunk> AcquireMany(ChunkPool* pool, size_t bytes, size_t count) {
  std::vector<Chunk> chunks;
  for (size_t i = 0; i < count; i++) {
    chunks.push_back(pool->Acquire(bytes, ChunkKind::k_key));
    EXPECT_TRUE(chunks.back());
  }
  return chunks;
}

}  // namespace strongbin
