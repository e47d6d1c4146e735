// What the memtables of one factory share, and what is known of all memtables of the process.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <rocksdb/memtablerep.h>
#include <rocksdb/status.h>

#include "strongbin/memtable/rocksdb/append_only_rep.h"
#include "strongbin/memtable/rocksdb/rep_options.h"
#include "strongbin/memtable/rocksdb/rep_stats.h"
#include "strongbin/pool/chunk_pool.h"

namespace ROCKSDB_NAMESPACE {
struct DBOptions;
}  // namespace ROCKSDB_NAMESPACE

namespace strongbin {

class PressureMonitor;

// Makes memtables, and keeps the pool and the manager that they need.
//
// Owns its own pool, if the options ask for one, and shares the monitor; holds on to no manager of a database. Its
// memtables keep it alive. Thread safety: any thread. Lifetime: memtables are RocksDB's, which deletes them.
// When memory is refused for a memtable: RocksDB's skip list, logged. Cost: a lock or two for each memtable.
class RepHost final : public RepListener, public std::enable_shared_from_this<RepHost> {
 public:
  explicit RepHost(const RepOptions& options);
  ~RepHost() override;

  // DB::Open shows the options of a database that will use the factory. NotSupported when the host cannot be what its
  // options ask for.
  ROCKSDB_NAMESPACE::Status NoteDatabase(const ROCKSDB_NAMESPACE::DBOptions& db_options);

  // Our memtable, or RocksDB's skip list where the order is not known to be the bytewise one, or memory is refused.
  ROCKSDB_NAMESPACE::MemTableRep* Make(const ROCKSDB_NAMESPACE::MemTableRep::KeyComparator& comparator,
                                       ROCKSDB_NAMESPACE::Allocator* allocator,
                                       const ROCKSDB_NAMESPACE::SliceTransform* transform,
                                       ROCKSDB_NAMESPACE::Logger* logger);

  void OnReadOnly(const AppendOnlyRep& rep) override;
  void OnEnd(const AppendOnlyRep& rep) override;
  void OnGone() override;

 private:
  bool OrderIsBytewise(const ROCKSDB_NAMESPACE::MemTableRep::KeyComparator& comparator,
                       ROCKSDB_NAMESPACE::Logger* logger);
  ChunkPool& Pool() const { return own_pool_ ? *own_pool_ : ChunkPool::Default(); }
  ChunkPool& PreparePool();
  void LogMonitor(ROCKSDB_NAMESPACE::Logger* logger);
  // Logs, once, where the statistics page is that the options ask for.
  void TellOfPage(ROCKSDB_NAMESPACE::Logger* logger);
  // The manager to charge and where chunks must come from for the limits to hold.
  RepMemory::Home ChooseHome(std::shared_ptr<BufferCharge>* charge, ROCKSDB_NAMESPACE::Logger* logger);

  const RepOptions options_;
  const std::unique_ptr<ChunkPool> own_pool_;
  std::string monitor_report_;  // why there is no monitor, or what it watches
  const std::shared_ptr<PressureMonitor> monitor_;
  std::once_flag pool_prepared_;
  std::string why_no_page_;
  std::once_flag page_told_;

  std::mutex mutex_;
  // Guarded by mutex_.
  // Of the databases that have been shown. A manager that is gone has no database.
  std::vector<std::weak_ptr<ROCKSDB_NAMESPACE::WriteBufferManager>> managers_;
  bool serves_unmanaged_ = false;  // a database without a manager and without a limit
  bool limit_is_unseen_ = false;   // a limit without a manager to charge
  bool fallback_logged_ = false;
  bool unseen_limit_logged_ = false;
  bool monitor_logged_ = false;
};

}  // namespace strongbin
