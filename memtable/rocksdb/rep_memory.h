// Where the memory of one RocksDB memtable comes from, and who is told of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "strongbin/arena/chunk_list.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/stats/cell.h"
#include "strongbin/stats/stats_page.h"

namespace strongbin {

// A write buffer manager, as a memtable sees it. Thread safety: any thread.
class BufferCharge {
 public:
  virtual ~BufferCharge() = default;
  virtual void Reserve(size_t bytes) = 0;       // in use by a memtable that is written to
  virtual void ScheduleFree(size_t bytes) = 0;  // still in use, but on its way out
  virtual void Free(size_t bytes) = 0;          // gone; after ScheduleFree
};

// RocksDB's own arena for the memtable, which counts and charges for itself. Allocate may throw std::bad_alloc.
class EngineArena {
 public:
  virtual char* AllocateInEngine(size_t bytes) = 0;

 protected:
  ~EngineArena() = default;
};

// Lends one memtable its chunks: from the pool; when the pool is refused memory, from the heap; and then, except for
// entries, which get exactly what they need from there (AppendOnlyRep::Allocate), and runs, from RocksDB's arena. Or
// all but runs from RocksDB's arena, where only that makes a limit hold.
//
// Owns what it has from the heap; knows how many bytes are lent and charges them, RocksDB's own excepted.
// Thread safety: all methods from any thread. Must outlive what it has lent; the destructor requires that all of it has
// come back. When memory is refused everywhere: an empty chunk. Cost: a lock a chunk.
class RepMemory final : public ChunkSupply {
 public:
  enum class Home : uint8_t { kPool, kEngineArena };

  // `charge` may be null. `engine` must outlive this.
  RepMemory(ChunkPool* pool, Home home, std::shared_ptr<BufferCharge> charge, EngineArena* engine);
  ~RepMemory() override;

  [[nodiscard]] Chunk Acquire(size_t min_bytes, ChunkKind kind) override;
  void TakeBack(std::span<const Chunk> chunks, ChunkFate fate) override;

  // The memtable is no longer written to: what is charged, now and from now on, is on its way out.
  void MarkReadOnly();

  Home home() const { return home_; }
  // Lent from pool and heap.
  size_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }
  uint64_t heap_bytes() const { return heap_bytes_.Load(); }      // ever taken from the heap
  uint64_t engine_bytes() const { return engine_bytes_.Load(); }  // ever taken from RocksDB's arena
  // For what the memtable takes there itself.
  void CountEngineBytes(size_t bytes) {
    engine_bytes_.AddShared(bytes);
    if (auto* page = stats_internal::CurrentPage()) page->rocksdb.engine_bytes.AddShared(bytes);
  }

 private:
  Chunk AcquireFromHeap(size_t min_bytes);
  Chunk AcquireFromEngine(size_t min_bytes);
  void Book(size_t bytes);
  void Unbook(size_t bytes);
  // False: the chunk is RocksDB's.
  bool FreeHeapChunk(const Chunk& chunk);

  ChunkPool* const pool_;
  const Home home_;
  const std::shared_ptr<BufferCharge> charge_;
  EngineArena* const engine_;

  std::atomic<size_t> held_bytes_{0};  // relaxed: a number to look at
  Cell heap_bytes_;
  Cell engine_bytes_;

  std::mutex mutex_;
  // Guarded by mutex_.
  bool read_only_ = false;
  ChunkList heap_chunks_;
};

}  // namespace strongbin
