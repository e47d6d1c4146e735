// What a RocksDB memtable is made of, shared by the memtable and its iterators.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "strongbin/memtable/ref_ptr.h"
#include "strongbin/memtable/rocksdb/encoded_entry.h"
#include "strongbin/memtable/rocksdb/encoded_log.h"
#include "strongbin/memtable/rocksdb/iterator_room.h"
#include "strongbin/memtable/rocksdb/rep_memory.h"
#include "strongbin/memtable/table_core.h"

namespace strongbin {

class AppendOnlyRep;

// Who made a memtable and wants to know of its life. Outlives its memtables. Thread safety: any thread.
class RepListener {
 public:
  virtual ~RepListener() = default;
  virtual void OnReadOnly(const AppendOnlyRep& rep) = 0;
  // Its last moment: it still has all it had.
  virtual void OnEnd(const AppendOnlyRep& rep) = 0;
  // It has given back all chunks.
  virtual void OnGone() = 0;
};

// What an iterator takes; it is defined in terms of the state.
size_t IteratorBytes();

// Goes with the last of the memtable and its iterators: RocksDB's tailing iterators let go of pinned memtables and of
// iterators on them in the order of their addresses, so an iterator's destructor may run after the memtable's.
//
// Owns all chunks, which go back with it. Thread safety: that of its parts.
struct RepState : RefCounted<RepState> {
  RepState(ChunkPool* pool, RepMemory::Home home, std::shared_ptr<BufferCharge> charge, EngineArena* engine,
           std::shared_ptr<RepListener> who_listens)
      : farewell{std::move(who_listens)},
        memory(pool, home, std::move(charge), engine),
        log(&memory),
        core(&memory, log, /*expected_keys=*/0, &AddWritersPart, this) {}
  ~RepState();

  // What the writers of a RepState have done. Under their lock.
  static void AddWritersPart(const void* rep_state, TableStats* stats);

  // The first member, so that its destructor runs when all chunks have gone back.
  struct Farewell {
    const std::shared_ptr<RepListener> listener;
    ~Farewell() { listener->OnGone(); }
  };

  const Farewell farewell;
  RepMemory memory;
  // In this order: the core borrows the log.
  EncodedLog log;
  TableCore<EncodedFace> core;
  mutable IteratorRoom room{IteratorBytes()};
};

}  // namespace strongbin
