#include "strongbin/memtable/rocksdb/rep_memory.h"

#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace strongbin {

RepMemory::RepMemory(ChunkPool* pool, Home home, std::shared_ptr<BufferCharge> charge, EngineArena* engine)
    : pool_(pool), home_(home), charge_(std::move(charge)), engine_(engine) {}

RepMemory::~RepMemory() { assert(held_bytes() == 0 && "a chunk is still on loan"); }

Chunk RepMemory::Acquire(size_t min_bytes, ChunkKind kind) {
  // RocksDB counts its arena when the memtable becomes immutable and asserts that it has not grown since; runs come
  // with readers, at any time.
  const bool engine_may_lend = kind != ChunkKind::k_run;
  if (home_ == Home::kEngineArena && engine_may_lend) return AcquireFromEngine(min_bytes);
  Chunk chunk = pool_->Acquire(min_bytes, kind);
  if (!chunk) chunk = AcquireFromHeap(min_bytes);
  if (chunk) {
    Book(chunk.bytes);
    return chunk;
  }
  return engine_may_lend && kind != ChunkKind::k_key ? AcquireFromEngine(min_bytes) : Chunk{};
}

Chunk RepMemory::AcquireFromHeap(size_t min_bytes) {
  const size_t bytes = (min_bytes + kChunkAlignment - 1) / kChunkAlignment * kChunkAlignment;
  if (bytes < min_bytes) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!heap_chunks_.ReserveMore(1)) return {};
  const Chunk chunk{static_cast<char*>(std::aligned_alloc(kChunkAlignment, bytes)), bytes};
  if (!chunk) return {};
  heap_chunks_.Push(chunk);
  heap_bytes_.AddShared(bytes);
  if (auto* page = stats_internal::CurrentPage()) page->rocksdb.heap_bytes.AddShared(bytes);
  return chunk;
}

Chunk RepMemory::AcquireFromEngine(size_t min_bytes) {
  const size_t bytes = min_bytes + kChunkAlignment - 1;
  if (bytes < min_bytes) return {};
  try {
    char* data = engine_->AllocateInEngine(bytes);
    if (data == nullptr) return {};
    CountEngineBytes(bytes);
    data += (0 - reinterpret_cast<uintptr_t>(data)) & (kChunkAlignment - 1);
    return {data, min_bytes};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

void RepMemory::TakeBack(std::span<const Chunk> chunks, ChunkFate fate) {
  size_t bytes = 0;
  while (!chunks.empty()) {
    size_t count = 0;
    while (count < chunks.size() && chunks[count].record != nullptr) bytes += chunks[count++].bytes;
    pool_->TakeBack(chunks.first(count), fate);
    chunks = chunks.subspan(count);
    if (chunks.empty()) break;
    // Before the heap has it back.
    const size_t heap_bytes = chunks.front().bytes;
    if (FreeHeapChunk(chunks.front())) bytes += heap_bytes;
    chunks = chunks.subspan(1);
  }
  if (bytes > 0) Unbook(bytes);
}

bool RepMemory::FreeHeapChunk(const Chunk& chunk) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < heap_chunks_.size(); ++i) {
    if (heap_chunks_[i].data != chunk.data) continue;
    std::free(chunk.data);
    heap_chunks_[i] = heap_chunks_[heap_chunks_.size() - 1];
    heap_chunks_.Truncate(heap_chunks_.size() - 1);
    return true;
  }
  return false;
}

void RepMemory::Book(size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  held_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (charge_ == nullptr) return;
  charge_->Reserve(bytes);
  if (read_only_) charge_->ScheduleFree(bytes);
}

void RepMemory::Unbook(size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  held_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  if (charge_ == nullptr) return;
  if (!read_only_) charge_->ScheduleFree(bytes);
  charge_->Free(bytes);
}

void RepMemory::MarkReadOnly() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!std::exchange(read_only_, true) && charge_ != nullptr) charge_->ScheduleFree(held_bytes());
}

}  // namespace strongbin
