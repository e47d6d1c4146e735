// The bounded pool of strong bins that all memory of a table comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "strongbin/pool/chunk_supply.h"
#include "strongbin/pool/pressure_hook.h"
#include "strongbin/pool/size_class.h"
#include "strongbin/stats/metrics.h"

namespace strongbin {

class ChunkSource;

enum class ChunkSourceKind : uint8_t {
  kMmapSlab,  // chunks carved from 2 MiB mappings; what is dropped leaves the resident size at once
  kMalloc,    // one malloc per chunk; allocation profilers see it, promises about resident size do not hold
};

// What is done so that fresh memory does not cost a page fault for each 4 KiB. kMmapSlab only; chunks out of a bin need
// nothing.
struct ColdStart {
  // Ask for huge pages (madvise) behind chunks of 256 KiB and more, and behind smaller ones of a class of which 4 MiB
  // are lent already.
  bool huge_pages = true;
  // Make the pages of other fresh chunks in one system call, from 16 KiB up (MADV_POPULATE_WRITE; older kernels refuse
  // it and nothing is lost).
  bool populate = false;
  // Make the next slab of a class of which 4 MiB are lent, pages and all, before it is asked for, on the pool's thread.
  // At most 3 MiB of a class lie ready so, where more than 32 MiB are lent a sixteenth of that and 2 MiB, never more
  // than 10 MiB; none once nothing of the class is lent; the pressure hook gives them back. For pools with a cap of at
  // least one slab (2 MiB); the pool of a child of fork() starts a thread for it there. With huge_pages and populate as
  // well, only such slabs get huge pages, and only while that thread finds them cheap, or at most twice as dear as
  // small ones. With populate, of a chunk that is asked for before its slab is ready only the first 256 KiB are made at
  // once, which bounds what a single put may take.
  bool ahead = false;
};

struct PoolEvent {
  enum class Type : uint8_t {
    kRefused,        // the operating system refused `bytes`; a callback that frees memory makes the pool try once more
    kPressureDrop,   // the pressure hook handed back `bytes`
    kAdmissionDrop,  // chunks of `bytes` in all came back to a full pool and were given up
  };
  Type type;
  size_t bytes;
};

// What becomes of a pool's idle chunks when one of its tables ends.
enum class PoolAtEnd : uint8_t {
  kKeep,
  kDropWhenLast,  // they go to the operating system if no other table uses the pool
  kDrop,          // they go in any case: for a table that is switched away from append-only use
};

struct ChunkPoolOptions {
  // Bound on idle bytes. 0: pool off, every chunk is mapped fresh and given back on return.
  size_t cap_bytes = size_t{64} << 20;
  // Idle chunks leave when they have been idle for this long (and up to an eighth more), the longest idle first. 0:
  // they stay. See SetDecayMs.
  uint64_t decay_ms = 0;
  ChunkSourceKind source = ChunkSourceKind::kMmapSlab;
  ColdStart cold_start = {};
  // Overwrite chunks with zeros as they come back, whether they are kept or not, so that neither keys nor values lie in
  // memory that nobody holds. Costs about what writing the chunk cost, and makes pages that were never touched.
  bool wipe_on_return = false;
  // Called after the fact, on the thread that caused it, never under a lock of the pool. It may call the pool, this
  // hook's own pool included, destroy tables, and must not throw.
  std::function<void(const PoolEvent&)> on_event = {};
  // Test double for the time by which chunks decay, in nanoseconds. With it no thread works for the pool: DropDecayed
  // and MakeAhead do.
  std::function<uint64_t()> clock_ns = {};
  // What the statistics page calls the pool.
  std::string name = "pool";
  // Test double for the memory behind the chunks; overrides `source`. Must outlive the pool.
  ChunkSource* custom_source = nullptr;
};

// Keeps chunks of ten power-of-two classes for reuse, up to a cap on idle bytes.
//
// Owns: the memory behind its chunks. Chunks on loan belong to whoever took them; a pool must outlive them (the default
// pool outlives everything). Thread safety: all methods, from any thread, at any time. One mutex, held for a few
// pointer moves; system calls and callbacks run outside it. Usable in the child after fork(). When memory is refused:
// Acquire gives up idle chunks of this pool and asks again, then tells `on_event` and asks a last time, then returns an
// empty chunk and counts it. The cap never makes a request fail or wait. Cost: a hit is a lock and a list pop; work is
// once per chunk, so a table that fills a 1 MiB chunk pays it once in thousands of keys.
class ChunkPool final : public ChunkSupply {
 public:
  explicit ChunkPool(const ChunkPoolOptions& options = {});
  // Requires that no chunk is on loan. Gives all memory back to the operating system.
  ~ChunkPool() override;
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  // The pool of the process: made on first use with the default options, never destroyed. A program that forks while
  // other threads run calls this once before them: a fork that comes while one of them makes the pool leaves the child
  // with half of it, for which its own first use would wait for ever.
  static ChunkPool& Default();

  // The smallest chunk that holds `min_bytes` (at least one byte), or above the largest class an oversize block of
  // exactly that size. Empty when the operating system refuses memory.
  [[nodiscard]] Chunk Acquire(size_t min_bytes, ChunkKind kind) override;

  // Gives chunks back to the pools that made them: kept while the cap allows, otherwise given up (an admission drop).
  // Empty chunks are passed over. The caller must not touch a chunk afterwards; neither does the pool.
  static void Release(std::span<const Chunk> chunks);
  static void Release(const Chunk& chunk) { Release({&chunk, 1}); }

  // Gives chunks back to the operating system: none of them enters a bin.
  static void Drop(std::span<const Chunk> chunks);
  static void Drop(const Chunk& chunk) { Drop({&chunk, 1}); }

  // Release or Drop.
  void TakeBack(std::span<const Chunk> chunks, ChunkFate fate) override {
    fate == ChunkFate::kReuse ? Release(chunks) : Drop(chunks);
  }

  // The pressure hook of this pool: empties the bins. Returns the bytes handed back; 0 when nothing is idle, when
  // called from within itself, or when another thread is already at it. Chunks on loan are not touched. The hook of the
  // process (PressureHook) calls that of every pool.
  size_t OnMemoryPressure();
  // The same because nobody needs the pool for now, for instance since a store has left append-only use; counted apart
  // from pressure.
  size_t DropIdle();

  // Tables count themselves as users of their pool, so that the last one knows itself (see PoolUse).
  void AddUser();
  void RemoveUser(PoolAtEnd at_end);

  // Lets chunks decay now that have been idle for longer than the decay time; the timer's thread does just this.
  // Returns the bytes handed back.
  size_t DropDecayed();

  // Makes now what ColdStart::ahead promises; the pool's thread does just this. Returns the bytes made.
  size_t MakeAhead();

  // Change the options of a pool in use. A lower cap drives idle chunks out, the longest idle first.
  void SetCapBytes(size_t cap_bytes);
  void SetColdStart(const ColdStart& cold_start);
  // 0 switches decay off. With any other time one thread of the process, started now, serves all pools, whether or not
  // anything is acquired or released. Chunks that are idle already count as idle from now on. False: the system refuses
  // the thread, or the process has begun to exit; then only DropDecayed lets chunks decay. In the child after fork()
  // that is so until the first such call with a time there.
  bool SetDecayMs(uint64_t decay_ms);

  // A consistent snapshot, taken under the pool's lock. At a quiet point, per class and in sum:
  // gets = hits + misses, fresh_bytes - returned_bytes = idle_bytes + lent_bytes + slab_free_bytes.
  PoolStats Stats() const;

  size_t cap_bytes() const;
  // Only so that two tables can be asked whether they share a pool; nullptr for an empty chunk.
  static const ChunkPool* HomeOf(const Chunk& chunk);

 private:
  class Impl;

  // The only source of chunks that come from no bin: room of a slab, or a new mapping. Never inlined, so that profiles
  // name it.
  [[gnu::noinline]] Chunk Fresh(size_t slot, size_t bytes, ChunkKind kind);
  Chunk TakeOrMake(size_t slot, size_t bytes, ChunkKind kind);

  std::unique_ptr<Impl> impl_;
  PressureHook::Registration pressure_;  // ends first
};

// One table's use of a pool, from its beginning to its end.
class PoolUse {
 public:
  explicit PoolUse(ChunkPool* pool) : pool_(pool) { pool_->AddUser(); }
  ~PoolUse() { pool_->RemoveUser(at_end_); }
  PoolUse(const PoolUse&) = delete;
  PoolUse& operator=(const PoolUse&) = delete;

  void SetAtEnd(PoolAtEnd at_end) { at_end_ = at_end; }

 private:
  ChunkPool* const pool_;
  PoolAtEnd at_end_ = PoolAtEnd::kKeep;
};

}  // namespace strongbin
