// The append-only memtable for embedding in a storage engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "strongbin/memtable/memtable_iterator.h"
#include "strongbin/memtable/read_pin.h"
#include "strongbin/memtable/status.h"
#include "strongbin/memtable/types.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/stats/metrics.h"

namespace strongbin {

struct MemtableOptions {
  // Where all memory comes from; null: the pool of the process. Must outlive the table, its pins and its iterators.
  ChunkPool* pool = nullptr;
  // What becomes of the pool's idle chunks when this table is released or destroyed (and nobody reads it any more).
  PoolAtEnd pool_at_end = PoolAtEnd::kKeep;
  // ShouldFreeze() says yes from this memory usage on.
  size_t freeze_bytes = size_t{64} << 20;
  // A write that would bring the memory usage above this answers kOverBudget. 0: no such bound.
  size_t hard_budget_bytes = 0;
  // What each generation is expected to hold at least; ResetHard goes back to it.
  Capacity base_capacity = {};
  // false: the caller sees to it that at most one thread writes, resets, freezes, trims or asks for Stats or
  // expected_capacity at a time; saves a locked instruction a write.
  bool concurrent_writers = true;
  // Keep a checksum with every entry and verify it on each read.
  bool checksum_entries = false;
};

// Holds the newest writes of a storage engine in the order they came, and shows them by key.
//
// Identity and order: (key bytes ascending, sequence descending); the kind takes no part. Empty keys and values are
// legal.
//
// Owns: all bytes it has copied, in chunks of its pool. An empty table holds no chunk.
//
// Thread safety of writes (Put ... AppendProduced, Reserve): any number of threads at once, unless concurrent_writers
// is off.
//
// Thread safety of reads (Get, NewIterator, Pin, statistics, hints): any number of threads, beside writes. Get takes no
// lock and never waits for a writer. The first ordered read after writes sorts the new entries; other ordered readers
// wait for it.
//
// Thread safety of Freeze, Trim, resets and releases: any thread, beside each other, writes, and reads that hold a pin
// or an iterator. A read that may overlap a reset holds a ReadPin.
//
// Thread safety of construction and destruction: one thread, with nothing in progress but open pins and iterators on
// other threads.
//
// Lifetime: views stay valid until the reset or end of the table. Reset and release answer kBusy while a pin or an
// iterator is open. The destructor does not wait: what a pin or iterator still reads is freed by the last of them.
//
// When full or wrong: a Status, and nothing has changed. No exception leaves this class, but for
// std::bad_alloc from the constructor.
//
// Cost: put and get O(1), on a table filled in ascending order O(log n) for get; O(log versions) for an old version of
// a key that has many; first ordered read O(new entries * log), later ones free; seek O(runs * log n).
class AppendOnlyMemtable {
 public:
  explicit AppendOnlyMemtable(const MemtableOptions& options = {});
  ~AppendOnlyMemtable();
  AppendOnlyMemtable(const AppendOnlyMemtable&) = delete;
  AppendOnlyMemtable& operator=(const AppendOnlyMemtable&) = delete;

  // ---- Writing. The caller gives each (key, sequence) once and publishes a snapshot after the writes it covers
  // returned. ----

  Status Put(std::string_view key, Sequence sequence, std::string_view value);
  Status Delete(std::string_view key, Sequence sequence);
  Status PutPointer(std::string_view key, Sequence sequence, const ValuePointer& pointer);
  Status Append(const Write& write);

  // Appends an entry whose value of `value_bytes` is written by `fill`, which runs outside any lock, may use this
  // table, and answers false to give up (kAborted). write.value is ignored.
  using ValueFiller = std::function<bool(std::span<char>)>;
  Status AppendFilled(const Write& write, size_t value_bytes, const ValueFiller& fill);

  // Appends all or nothing. A reader at a snapshot below the batch's sequences sees nothing of it, even half-way.
  Status AppendBatch(std::span<const Write> batch);
  // The same for a batch that the caller knows to be in table order; skips what finds that out. Checked in debug builds
  // only.
  Status AppendSortedBatch(std::span<const Write> batch);
  // Appends `count` entries that `produce(i, &write)` makes one by one; false gives up and appends nothing (kAborted).
  // What a produced entry views must live until the call returns.
  using WriteProducer = std::function<bool(size_t, Write*)>;
  Status AppendProduced(size_t count, const WriteProducer& produce);

  // Takes the memory that entries, keys and values of this size will need, in pieces of at most 4 KiB, so that they
  // neither wait for the pool nor fail. Larger pieces, and the lookup index of entries out of order, still ask the pool
  // when they come.
  Status Reserve(const Capacity& capacity);

  // Ends writing. Writes in progress on other threads finish or answer kFrozen. Costs nothing that grows with the
  // table.
  void Freeze();
  bool frozen() const;

  // ---- Reading ----

  // The newest version of `key` at or below `snapshot`, found by sequence number, whatever the order of arrival.
  LookupResult Get(std::string_view key, Sequence snapshot = kMaxSequence) const;

  // An iterator, at first not positioned. It holds a pin. Each Seek sees all entries whose append returned before it.
  MemtableIterator NewIterator(const ReadOptions& options = {}) const;

  // Keeps the table from being reset while it lives. Cheap: no shared cache line is written.
  [[nodiscard]] ReadPin Pin() const;

  // For a reader that wants `key_count` known keys: is looking each up cheaper than one scan past all entries?
  bool ProbingIsCheaperThanScanning(uint64_t key_count) const;

  // ---- Life ----

  // Empties the table for reuse; chunks go back to the pool. The next generation expects what this one held, or half of
  // what was expected of this one where that is more, and never less than base_capacity.
  Status ResetWarm(WhenBusy when_busy = WhenBusy::kReturn);
  // Empties the table for reuse; chunks go to the operating system.
  Status ResetCold(WhenBusy when_busy = WhenBusy::kReturn);
  // As ResetWarm, and forgets what earlier generations held: back to base_capacity.
  Status ResetHard(WhenBusy when_busy = WhenBusy::kReturn);
  // As ResetWarm and ResetCold, but the table ends: from then on it answers kClosed.
  Status ReleaseWarm(WhenBusy when_busy = WhenBusy::kReturn);
  Status ReleaseCold(WhenBusy when_busy = WhenBusy::kReturn);
  // Lowers the expectation for the next generation to at most `capacity`.
  void Trim(const Capacity& capacity);
  // What the next generation is expected to hold.
  Capacity expected_capacity() const;

  // ---- Measuring ----

  uint64_t entry_count() const;
  bool empty() const { return entry_count() == 0; }
  // Bytes of all chunks held: keys, values, log, index and runs. O(1), any time.
  size_t MemoryUsage() const;
  // Has the table reached freeze_bytes? Never late by more than one batch and one chunk.
  bool ShouldFreeze() const;
  // Counters of this table since it was made, gauges of now. Consistent at a quiet point.
  TableStats Stats() const;

  ChunkPool& pool() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strongbin
