#include "strongbin/memtable/rocksdb/rep_host.h"

#include <algorithm>
#include <new>
#include <set>
#include <utility>

#include <rocksdb/comparator.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/write_buffer_manager.h>

#include "strongbin/memtable/rocksdb/comparator_check.h"
#include "strongbin/memtable/rocksdb/shared_monitor.h"
#include "strongbin/pool/pressure_monitor.h"
#include "strongbin/stats/page_share.h"
#include "strongbin/stats/snapshot.h"

namespace strongbin {

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

TableStats StatsOf(const AppendOnlyRep& rep) {
  TableStats stats;
  rep.AddTo(&stats);
  return stats;
}

// All memtables of the process. Never destroyed: a database with static lifetime may end after static destructors.
class Registry {
 public:
  static Registry& Get() {
    static Registry* const registry = new Registry;
    return *registry;
  }

  void Add(const AppendOnlyRep* rep, RepMemory::Home home) {
    const std::lock_guard<std::mutex> lock(mutex_);
    alive_.insert(rep);
    numbers_.memtables_max = std::max<uint64_t>(numbers_.memtables_max, alive_.size());
    ++numbers_.made_memtables;
    if (home == RepMemory::Home::kEngineArena) ++numbers_.engine_arena_memtables;
    Publish();
  }
  void Remove(const AppendOnlyRep& rep, const TableStats& last) {
    const std::lock_guard<std::mutex> lock(mutex_);
    alive_.erase(&rep);
    AddBytes(rep, &numbers_);
    numbers_.unappended_entries += rep.unappended_count();
    Accumulate(&ended_, last, /*has_ended=*/true);
    Publish();
  }
  void CountFallback() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++numbers_.fallback_memtables;
    Publish();
  }

  void AddTo(ProcessStats* stats) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stats->memtables = ended_;
    stats->rocksdb = numbers_;
    stats->rocksdb.memtables = alive_.size();
    for (const AppendOnlyRep* rep : alive_) {
      Accumulate(&stats->memtables, StatsOf(*rep), /*has_ended=*/false);
      AddBytes(*rep, &stats->rocksdb);
    }
  }

 private:
  static void AddBytes(const AppendOnlyRep& rep, RocksDBStats* stats) {
    stats->heap_bytes += rep.memory().heap_bytes();
    stats->engine_bytes += rep.memory().engine_bytes();
  }
  // Under mutex_. The bytes from elsewhere are RepMemory's to tell, when they are taken.
  void Publish() {
    RocksDBStats now = numbers_;
    now.memtables = alive_.size();
    now.heap_bytes = 0;
    now.engine_bytes = 0;
    share_.Publish(now, /*due=*/0);
  }

  std::mutex mutex_;
  // Guarded by mutex_.
  stats_internal::PageShare<RocksDBMetrics> share_;
  std::set<const AppendOnlyRep*> alive_;
  TableStats ended_;
  RocksDBStats numbers_;
};

[[gnu::constructor]] void MakeAtLoad() { static_cast<void>(Registry::Get()); }  // see fork_guard.h

class ManagerCharge final : public BufferCharge {
 public:
  explicit ManagerCharge(std::shared_ptr<rdb::WriteBufferManager> manager) : manager_(std::move(manager)) {}
  void Reserve(size_t bytes) override { manager_->ReserveMem(bytes); }
  void ScheduleFree(size_t bytes) override { manager_->ScheduleFreeMem(bytes); }
  void Free(size_t bytes) override { manager_->FreeMem(bytes); }

 private:
  const std::shared_ptr<rdb::WriteBufferManager> manager_;
};

ColdStart ColdStartOf(RepColdStart choice) {
  return {.huge_pages = choice == RepColdStart::kAuto || choice == RepColdStart::kHugePages,
          .populate = choice == RepColdStart::kAuto || choice == RepColdStart::kPopulate,
          .ahead = choice == RepColdStart::kAuto};
}

std::unique_ptr<ChunkPool> MakeOwnPool(const RepOptions& options) {
  if (options.pool == RepPool::kProcess) return nullptr;
  ChunkPoolOptions pool_options;
  pool_options.cap_bytes = options.pool_cap_bytes;
  pool_options.decay_ms = options.pool_decay_ms;
  pool_options.cold_start = ColdStartOf(options.cold_start);
  pool_options.name = "own";
  return std::make_unique<ChunkPool>(pool_options);
}

void LogEntries(rdb::Logger* logger, const char* moment, const TableStats& stats) {
  const auto held = [&stats](ChunkKind kind) {
    return static_cast<unsigned long long>(stats.reserved_bytes[static_cast<size_t>(kind)]);
  };
  rdb::Info(
      logger,
      "[strongbin] memtable %s: %llu entries, %llu ascending at its start, %llu keys in the index; bytes held: "
      "entries %llu, log %llu, index %llu, runs %llu; %llu sorts of %llu entries, %llu entries in deltas, %llu merges, "
      "%llu runs",
      moment, static_cast<unsigned long long>(stats.entries), static_cast<unsigned long long>(stats.ascending_entries),
      static_cast<unsigned long long>(stats.indexed_keys), held(ChunkKind::k_key), held(ChunkKind::k_log),
      held(ChunkKind::k_index), held(ChunkKind::k_run), static_cast<unsigned long long>(stats.sorts),
      static_cast<unsigned long long>(stats.sorted_entries), static_cast<unsigned long long>(stats.delta_inserts),
      static_cast<unsigned long long>(stats.merges), static_cast<unsigned long long>(stats.runs));
}

}  // namespace

ProcessStats Stats() {
  ProcessStats stats;
  stats.pool = ChunkPool::Default().Stats();
  Registry::Get().AddTo(&stats);
  return stats;
}

RepHost::RepHost(const RepOptions& options)
    : options_(options),
      own_pool_(MakeOwnPool(options)),
      monitor_(options.pressure_monitor ? ShareMonitor(&monitor_report_) : nullptr) {
  // Here and not where pools are made: the pool of the process may be older than a fork, or than the wish for a page.
  stats_internal::OpenPageIfAsked();
  if (options.stats_page) OpenStatsPage(&why_no_page_);
  if (options.write_buffer_manager != nullptr) managers_.push_back(options.write_buffer_manager);
}

RepHost::~RepHost() = default;

rdb::Status RepHost::NoteDatabase(const rdb::DBOptions& db_options) {
  if (options_.pressure_monitor && monitor_ == nullptr) {
    return rdb::Status::NotSupported("strongbin: pressure_monitor=true cannot be had", monitor_report_);
  }
  if (options_.write_buffer_manager != nullptr) return rdb::Status::OK();
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::shared_ptr<rdb::WriteBufferManager>& manager = db_options.write_buffer_manager;
  if (manager == nullptr) {
    // DB::Open will make a manager of its own, which nobody shows to us.
    (db_options.db_write_buffer_size > 0 ? limit_is_unseen_ : serves_unmanaged_) = true;
    return rdb::Status::OK();
  }
  std::erase_if(managers_, [&](const auto& known) { return known.expired() || known.lock() == manager; });
  managers_.push_back(manager);
  return rdb::Status::OK();
}

rdb::MemTableRep* RepHost::Make(const rdb::MemTableRep::KeyComparator& comparator, rdb::Allocator* allocator,
                                const rdb::SliceTransform* transform, rdb::Logger* logger) {
  if (OrderIsBytewise(comparator, logger)) {
    std::shared_ptr<BufferCharge> charge;
    const RepMemory::Home home = ChooseHome(&charge, logger);
    TellOfPage(logger);
    try {
      LogMonitor(logger);
      auto rep = std::make_unique<AppendOnlyRep>(allocator, &PreparePool(), home, std::move(charge), shared_from_this(),
                                                 logger, &comparator);
      Pool().AddUser();
      Registry::Get().Add(rep.get(), home);
      return rep.release();
    } catch (const std::bad_alloc&) {
      rdb::Warn(logger, "[strongbin] no memory for a memtable; this one is RocksDB's skip list");
    }
  }
  Registry::Get().CountFallback();
  return rdb::SkipListFactory().CreateMemTableRep(comparator, allocator, transform, logger);
}

bool RepHost::OrderIsBytewise(const rdb::MemTableRep::KeyComparator& comparator, rdb::Logger* logger) {
  if (options_.order != RepOrder::kFallback) {
    const rdb::Comparator* user_comparator = UserComparator(comparator);
    if (user_comparator == rdb::BytewiseComparator()) return true;
    // CreateColumnFamily does not ask the factory for its consent: what is known to be another order stays one.
    if (options_.order == RepOrder::kBytewise && user_comparator == nullptr) return true;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!std::exchange(fallback_logged_, true)) {
    rdb::Info(logger, "[strongbin] memtables are RocksDB's skip list: %s",
              options_.order == RepOrder::kFallback ? "order=fallback says so"
                                                    : "their comparator is not known to be the bytewise one");
  }
  return false;
}

void RepHost::TellOfPage(rdb::Logger* logger) {
  if (!options_.stats_page) return;
  std::call_once(page_told_, [&] {
    const std::string path = StatsPagePath();
    if (path.empty()) {
      rdb::Warn(logger, "[strongbin] there is no statistics page: %s", why_no_page_.c_str());
    } else {
      rdb::Info(logger, "[strongbin] statistics page: %s", path.c_str());
    }
  });
}

ChunkPool& RepHost::PreparePool() {
  if (own_pool_) return *own_pool_;
  std::call_once(pool_prepared_, [&] {
    Pool().SetCapBytes(options_.pool_cap_bytes);
    Pool().SetDecayMs(options_.pool_decay_ms);
    Pool().SetColdStart(ColdStartOf(options_.cold_start));
  });
  return Pool();
}

// CreateColumnFamily does not ask the factory for its consent, so a monitor that cannot be had is told here, too.
void RepHost::LogMonitor(rdb::Logger* logger) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!options_.pressure_monitor || std::exchange(monitor_logged_, true) || monitor_report_.empty()) return;
  if (monitor_ != nullptr) {
    rdb::Info(logger, "[strongbin] pressure_monitor=true: %s", monitor_report_.c_str());
  } else {
    rdb::Warn(logger, "[strongbin] pressure_monitor=true cannot be had: %s", monitor_report_.c_str());
  }
}

RepMemory::Home RepHost::ChooseHome(std::shared_ptr<BufferCharge>* charge, rdb::Logger* logger) {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t count = 0;
  std::shared_ptr<rdb::WriteBufferManager> to_charge;
  for (const auto& known : managers_) {
    std::shared_ptr<rdb::WriteBufferManager> manager = known.lock();
    if (manager == nullptr) continue;
    ++count;
    if (manager->enabled() || manager->cost_to_cache()) to_charge = std::move(manager);
  }
  // Whose memtable this is, nobody says.
  const bool is_ambiguous = to_charge != nullptr && (count > 1 || serves_unmanaged_);
  if (limit_is_unseen_ || is_ambiguous) {
    if (!std::exchange(unseen_limit_logged_, true)) {
      rdb::Warn(logger,
                "[strongbin] memtables live in RocksDB's arena: there is a limit on write buffers whose manager this "
                "factory cannot charge (db_write_buffer_size without a write_buffer_manager, or one factory for "
                "databases with different managers). See ConfigureRocksDB.");
    }
    return RepMemory::Home::kEngineArena;
  }
  if (to_charge != nullptr) *charge = std::make_shared<ManagerCharge>(std::move(to_charge));
  return RepMemory::Home::kPool;
}

void RepHost::OnReadOnly(const AppendOnlyRep& rep) { LogEntries(rep.logger(), "is read-only", StatsOf(rep)); }

void RepHost::OnEnd(const AppendOnlyRep& rep) {
  const TableStats last = StatsOf(rep);
  LogEntries(rep.logger(), "ends", last);
  Registry::Get().Remove(rep, last);
}

void RepHost::OnGone() {
  Pool().RemoveUser(options_.drop_pool_when_unused ? PoolAtEnd::kDropWhenLast : PoolAtEnd::kKeep);
}

}  // namespace strongbin
