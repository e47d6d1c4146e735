// One of the two databases, driven by operations.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>

#include <rocksdb/memtablerep.h>

#include "strongbin/tests/memtable/rocksdb/differential_instance.h"
#include "strongbin/tests/memtable/rocksdb/differential_keys.h"
#include "strongbin/tests/memtable/rocksdb/differential_operation.h"

namespace strongbin::differential {

inline constexpr uint64_t kSlotCount = 4;

class Side {
 public:
  Side(const RoundConfig& config, std::string directory);
  ~Side() { Close(); }

  // Opens what is there, or makes it. `factory` is that of all memtables until the next Open.
  ROCKSDB_NAMESPACE::Status Open(std::shared_ptr<ROCKSDB_NAMESPACE::MemTableRepFactory> factory);
  // Closes iterators and releases snapshots first.
  void Close();

  // Does all but kReopen and kKill, and records the answers. With a marker above 0 a write also puts the marker, so
  // that LastMarker tells after a crash which write was the last to stay.
  //
  // Options: kFill 0 ascending keys, 1 scattered ones; kFlush 0 one family, 1 all, 2 one without waiting; kMultiGet 1
  // by a vector; kIterate and kOpenIterator 1 pins what is read; kSecondary 1 closes the instance afterwards.
  void Execute(const Operation& operation, uint64_t marker, Trace* trace);
  // 0 where none was written.
  uint64_t LastMarker() const;

 private:
  void Write(const Operation& operation, uint64_t marker, Trace* trace);
  void Get(const Operation& operation, Trace* trace) const;
  void MultiGet(const Operation& operation, Trace* trace) const;
  void GetMergeOperands(const Operation& operation, Trace* trace) const;
  void ReadCounts(const Operation& operation, Trace* trace) const;
  void Flush(const Operation& operation, Trace* trace);
  void Compact(const Operation& operation, Trace* trace);
  void CompareAll(Trace* trace);
  void UseOtherInstance(const Operation& operation, Trace* trace);
  void RunThreads(const Operation& operation, Trace* trace);

  // Where memtables are merged, a flush that is asked for while another is asked for may wait for ever, with RocksDB's
  // own memtables too (facebook/rocksdb#12094): there they come one by one, and each is waited for.
  bool FlushesMayRace() const { return config_.min_merge_count == 1; }
  [[nodiscard]] std::unique_lock<std::mutex> AloneIfFlushesMayNotRace();

  // Null for the newest state and an empty slot.
  SharedSnapshot SnapshotAt(uint64_t at) const;
  ROCKSDB_NAMESPACE::ReadOptions ReadOptionsAt(uint64_t at) const;

  const RoundConfig config_;
  std::mutex flushing_;
  const KeyMaker keys_;
  const std::string directory_;
  ROCKSDB_NAMESPACE::Options options_;
  const ROCKSDB_NAMESPACE::WriteOptions write_options_;
  Instance primary_;
  Instance secondary_;
  std::array<SharedSnapshot, kSlotCount> snapshots_;
  std::array<std::unique_ptr<MovedIterator>, kSlotCount> iterators_;
};

}  // namespace strongbin::differential
