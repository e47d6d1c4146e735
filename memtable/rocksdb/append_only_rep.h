// RocksDB's memtable on the core of strongbin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_set>

#include <rocksdb/memtablerep.h>

#include "strongbin/memtable/ref_ptr.h"
#include "strongbin/memtable/rocksdb/rep_iterator.h"
#include "strongbin/memtable/rocksdb/rep_memory.h"
#include "strongbin/memtable/rocksdb/rep_state.h"
#include "strongbin/memtable/writer_lock.h"
#include "strongbin/stats/metrics.h"

namespace strongbin {

// A memtable for keys in bytewise order.
//
// Owns its chunks, together with iterators that are still to be destroyed; none is freed before its own destructor.
// Thread safety: every method from any thread, in any mix: plain and concurrent inserts are the same. Allocate and the
// inserts are short sections under one spin lock; readers take no lock; the first ordered reader after writes sorts.
// Lifetime of entries and iterators: as RocksDB asks. When memory is refused: pool, heap, RocksDB's arena, each
// counted; then std::bad_alloc from Allocate, as with the skip list. Inserts never fail. Cost: O(1) for insert and
// lookup, O(log n) for a lookup while all keys have ascended; ApproximateMemoryUsage O(1).
class AppendOnlyRep final : public ROCKSDB_NAMESPACE::MemTableRep, private EngineArena {
 public:
  using KeyHandle = ROCKSDB_NAMESPACE::KeyHandle;
  using Slice = ROCKSDB_NAMESPACE::Slice;

  // Throws std::bad_alloc. `pool`, `allocator`, `logger` and `order` must outlive it; `charge`, `logger` and `order`
  // may be null. `order` is only asked in builds with assertions, whether iterators show entries as it wants them.
  AppendOnlyRep(ROCKSDB_NAMESPACE::Allocator* allocator, ChunkPool* pool, RepMemory::Home home,
                std::shared_ptr<BufferCharge> charge, std::shared_ptr<RepListener> listener,
                ROCKSDB_NAMESPACE::Logger* logger, const KeyComparator* order);
  ~AppendOnlyRep() override;

  // ---- Writing ----

  // Takes all that the insert will need. An allocation that is never inserted is counted and goes with the memtable.
  KeyHandle Allocate(size_t len, char** buf) override;
  // False: the same user key and sequence is there already, whatever its type; nothing is added. Hints are not needed
  // and left as they are.
  bool InsertKey(KeyHandle handle) override;
  bool InsertKeyWithHint(KeyHandle handle, void**) override { return InsertKey(handle); }
  bool InsertKeyConcurrently(KeyHandle handle) override { return InsertKey(handle); }
  bool InsertKeyWithHintConcurrently(KeyHandle handle, void**) override { return InsertKey(handle); }
  void Insert(KeyHandle handle) override { InsertKey(handle); }
  void InsertWithHint(KeyHandle handle, void**) override { InsertKey(handle); }
  void InsertConcurrently(KeyHandle handle) override { InsertKey(handle); }
  void InsertWithHintConcurrently(KeyHandle handle, void**) override { InsertKey(handle); }
  // Runs under RocksDB's mutex: costs nothing that grows with the table.
  void MarkReadOnly() override;

  // ---- Reading ----

  bool Contains(const char* key) const override;
  void Get(const ROCKSDB_NAMESPACE::LookupKey& key, void* callback_args,
           bool (*callback)(void* args, const char* entry)) override;
  Iterator* GetIterator(ROCKSDB_NAMESPACE::Arena* arena) override;
  Iterator* GetDynamicPrefixIterator(ROCKSDB_NAMESPACE::Arena* arena) override;
  // Exact; sorts what has been written since the last ordered read.
  uint64_t ApproximateNumEntries(const Slice& start_internal_key, const Slice& end_internal_key) override;
  void UniqueRandomSample(uint64_t num_entries, uint64_t target_sample_size,
                          std::unordered_set<const char*>* entries) override;

  // ---- Measuring ----

  // All chunks of entries, log and index, but for the end of the newest one of entries, where nothing has been yet.
  // Not the sorted runs: RocksDB adds this number up when a memtable becomes immutable, subtracts it when it goes, and
  // asserts that it has not grown; and runs come with readers. (Runs are charged to the write buffer manager.) Nothing
  // that lies in RocksDB's arena, which it counts itself.
  size_t ApproximateMemoryUsage() override;
  // Gauges of now and counters since it was made. Takes the writers' lock.
  void AddTo(TableStats* stats) const;
  const RepMemory& memory() const { return state_->memory; }
  uint64_t unappended_count() const { return state_->log.unappended_count(); }
  // RocksDB's, for the listener.
  ROCKSDB_NAMESPACE::Logger* logger() const { return logger_; }

 private:
  char* AllocateInEngine(size_t bytes) override;

  ROCKSDB_NAMESPACE::Logger* const logger_;
  const KeyComparator* const order_;
  mutable WriterLock lock_{/*enabled=*/true};
  const RefPtr<RepState> state_;
};

}  // namespace strongbin
