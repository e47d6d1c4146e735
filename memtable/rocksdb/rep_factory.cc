#include "strongbin/memtable/rocksdb/rep_factory.h"

#include <mutex>
#include <string>
#include <unordered_map>

#include <rocksdb/comparator.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/options_type.h>
#include <rocksdb/write_buffer_manager.h>

#include "strongbin/memtable/rocksdb/rep_host.h"

namespace strongbin {

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

// The options of the string form. RocksDB keeps a pointer to it, so it lives as long as the process.
const std::unordered_map<std::string, rdb::OptionTypeInfo>& OptionTypes() {
  static const auto* const orders = new std::unordered_map<std::string, RepOrder>{
      {"auto", RepOrder::kAuto}, {"bytewise", RepOrder::kBytewise}, {"fallback", RepOrder::kFallback}};
  static const auto* const pools =
      new std::unordered_map<std::string, RepPool>{{"process", RepPool::kProcess}, {"own", RepPool::kOwn}};
  static const auto* const cold_starts =
      new std::unordered_map<std::string, RepColdStart>{{"auto", RepColdStart::kAuto},
                                                        {"huge_pages", RepColdStart::kHugePages},
                                                        {"populate", RepColdStart::kPopulate},
                                                        {"none", RepColdStart::kNone}};
  static const auto* const types = new std::unordered_map<std::string, rdb::OptionTypeInfo>{
      {"order", rdb::OptionTypeInfo::Enum(offsetof(RepOptions, order), orders)},
      {"pool", rdb::OptionTypeInfo::Enum(offsetof(RepOptions, pool), pools)},
      {"pool_cap_bytes", {offsetof(RepOptions, pool_cap_bytes), rdb::OptionType::kSizeT}},
      {"cold_start", rdb::OptionTypeInfo::Enum(offsetof(RepOptions, cold_start), cold_starts)},
      {"drop_pool_when_unused", {offsetof(RepOptions, drop_pool_when_unused), rdb::OptionType::kBoolean}},
  };
  return *types;
}

class AppendOnlyRepFactory final : public rdb::MemTableRepFactory {
 public:
  explicit AppendOnlyRepFactory(const RepOptions& options) : options_(options) {
    RegisterOptions("StrongbinRepOptions", &options_, &OptionTypes());
  }

  const char* Name() const override { return kRocksDBFactoryName; }

  // DB::Open calls it with the options of the database.
  rdb::Status ValidateOptions(const rdb::DBOptions& db_options,
                              const rdb::ColumnFamilyOptions& cf_options) const override {
    if (options_.order == RepOrder::kBytewise && cf_options.comparator != rdb::BytewiseComparator()) {
      return rdb::Status::InvalidArgument("strongbin: order=bytewise needs the bytewise comparator, not",
                                          cf_options.comparator->Name());
    }
    Host().NoteDatabase(db_options);
    return MemTableRepFactory::ValidateOptions(db_options, cf_options);
  }

  using MemTableRepFactory::CreateMemTableRep;
  rdb::MemTableRep* CreateMemTableRep(const rdb::MemTableRep::KeyComparator& comparator, rdb::Allocator* allocator,
                                      const rdb::SliceTransform* transform, rdb::Logger* logger) override {
    return Host().Make(comparator, allocator, transform, logger);
  }

  bool IsInsertConcurrentlySupported() const override { return true; }
  bool CanHandleDuplicatedKey() const override { return true; }

 private:
  // Made on the first use, when all options have been set.
  RepHost& Host() const {
    std::call_once(host_made_, [this] { host_ = std::make_shared<RepHost>(options_); });
    return *host_;
  }

  RepOptions options_;
  mutable std::once_flag host_made_;
  mutable std::shared_ptr<RepHost> host_;
};

}  // namespace

std::unique_ptr<rdb::MemTableRepFactory> NewUnsharedRepFactory(const RepOptions& options) {
  return std::make_unique<AppendOnlyRepFactory>(options);
}

std::shared_ptr<rdb::MemTableRepFactory> NewAppendOnlyRepFactory(const RepOptions& options) {
  return NewUnsharedRepFactory(options);
}

rdb::Status ConfigureRocksDB(rdb::DBOptions* db_options, rdb::ColumnFamilyOptions* cf_options,
                             const RepOptions& options) {
  RepOptions with_manager = options;
  if (db_options != nullptr) {
    if (db_options->write_buffer_manager == nullptr && db_options->db_write_buffer_size > 0) {
      db_options->write_buffer_manager = std::make_shared<rdb::WriteBufferManager>(db_options->db_write_buffer_size);
    }
    if (with_manager.write_buffer_manager == nullptr) {
      with_manager.write_buffer_manager = db_options->write_buffer_manager;
    }
  }
  if (cf_options != nullptr) cf_options->memtable_factory = NewAppendOnlyRepFactory(with_manager);
  return rdb::Status::OK();
}

}  // namespace strongbin
