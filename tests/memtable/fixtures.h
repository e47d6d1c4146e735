// Pools and sources for tests of the memtable.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/pool/chunk_source.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {

inline uint64_t LentBytes(const ChunkPool& pool) {
  uint64_t sum = 0;
  for (const uint64_t bytes : pool.Stats().lent_bytes) sum += bytes;
  return sum;
}
inline uint64_t IdleBytes(const ChunkPool& pool) {
  uint64_t sum = 0;
  for (const uint64_t bytes : pool.Stats().idle_bytes) sum += bytes;
  return sum;
}
inline uint64_t FreshChunks(const ChunkPool& pool) {
  uint64_t sum = 0;
  for (const uint64_t chunks : pool.Stats().fresh_chunks) sum += chunks;
  return sum;
}

// malloc that can be told to refuse: each mapping is one chunk, so the n-th request is the n-th fresh chunk.
class RefusingSource : public MallocChunkSource {
 public:
  void* Map(size_t bytes, size_t alignment, bool huge_pages) override {
    if (refuse_after_.load(std::memory_order_relaxed) != kNever &&
        refuse_after_.fetch_sub(1, std::memory_order_relaxed) <= 0) {
      return nullptr;
    }
    return MallocChunkSource::Map(bytes, alignment, huge_pages);
  }
  // Grants `count` more requests and then refuses all.
  void RefuseAfter(int64_t count) { refuse_after_.store(count, std::memory_order_relaxed); }
  void GrantAll() { refuse_after_.store(kNever, std::memory_order_relaxed); }

 private:
  static constexpr int64_t kNever = INT64_MIN;
  std::atomic<int64_t> refuse_after_{kNever};
};

// Every chunk from the source and back to it, so that nothing idle can hide a refusal.
inline ChunkPoolOptions UnpooledFrom(ChunkSource* source) {
  ChunkPoolOptions options;
  options.cap_bytes = 0;
  options.custom_source = source;
  return options;
}

}  // namespace strongbin
