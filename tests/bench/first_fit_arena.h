// What the forward-only cursor is measured against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strongbin/pool/chunk_pool.h"

namespace strongbin {

// An arena that walks its buffers from the first one until a request fits, and otherwise takes a new buffer by the same
// rule of growth as MonotonicArena. For benchmarks only: no alignment, memory assumed to be there.
class FirstFitArena {
 public:
  explicit FirstFitArena(ChunkPool* pool, size_t min_buffer_bytes = kMinChunkBytes)
      : pool_(pool), min_buffer_bytes_(min_buffer_bytes) {}
  ~FirstFitArena() {
    for (const Buffer& buffer : buffers_) ChunkPool::Release(buffer.chunk);
  }
  FirstFitArena(const FirstFitArena&) = delete;
  FirstFitArena& operator=(const FirstFitArena&) = delete;

  char* Allocate(size_t bytes) {
    for (Buffer& buffer : buffers_) {
      buffers_examined_++;
      if (buffer.chunk.bytes - buffer.used_bytes < bytes) continue;
      char* result = buffer.chunk.data + buffer.used_bytes;
      buffer.used_bytes += bytes;
      return result;
    }
    size_t buffer_bytes = min_buffer_bytes_;
    while (buffer_bytes < kMaxChunkBytes && (buffer_bytes < bytes || buffer_bytes * 2 <= reserved_bytes_ / 8)) {
      buffer_bytes *= 2;
    }
    const Chunk chunk = pool_->Acquire(buffer_bytes, ChunkKind::k_key);
    reserved_bytes_ += chunk.bytes;
    buffers_.push_back({chunk, bytes});
    return chunk.data;
  }

  size_t peak_bytes() const { return reserved_bytes_; }
  size_t buffer_count() const { return buffers_.size(); }
  uint64_t buffers_examined() const { return buffers_examined_; }
  // All that is free before the last buffer.
  size_t abandoned_bytes() const {
    size_t bytes = 0;
    for (size_t i = 0; i + 1 < buffers_.size(); i++) bytes += buffers_[i].chunk.bytes - buffers_[i].used_bytes;
    return bytes;
  }

 private:
  struct Buffer {
    Chunk chunk;
    size_t used_bytes;
  };
  ChunkPool* const pool_;
  const size_t min_buffer_bytes_;
  std::vector<Buffer> buffers_;
  size_t reserved_bytes_ = 0;
  uint64_t buffers_examined_ = 0;
};

}  // namespace strongbin
