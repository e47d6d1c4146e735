#include "strongbin/memtable/rocksdb/rep_factory.h"

#include <string>
#include <unordered_map>

#include <rocksdb/comparator.h>
#include <rocksdb/options.h>
#include <rocksdb/write_buffer_manager.h>

#include "strongbin/memtable/rocksdb/rep_host.h"
#include "strongbin/memtable/rocksdb/rep_option_types.h"
#include "strongbin/pool/pressure_hook.h"

namespace strongbin {

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

rdb::Status CheckComparator(const RepOptions& options, const rdb::ColumnFamilyOptions& cf_options) {
  if (options.order != RepOrder::kBytewise || cf_options.comparator == rdb::BytewiseComparator()) {
    return rdb::Status::OK();
  }
  return rdb::Status::InvalidArgument("strongbin: order=bytewise needs the bytewise comparator, not",
                                      cf_options.comparator->Name());
}

class AppendOnlyRepFactory final : public rdb::MemTableRepFactory {
 public:
  explicit AppendOnlyRepFactory(const RepOptions& options) : options_(options) {
    RegisterOptions("StrongbinRepOptions", &options_, &RepOptionTypes());
  }

  const char* Name() const override { return kRocksDBFactoryName; }

  // DB::Open calls it with the options of the database.
  rdb::Status ValidateOptions(const rdb::DBOptions& db_options,
                              const rdb::ColumnFamilyOptions& cf_options) const override {
    if (rdb::Status checked = CheckComparator(options_, cf_options); !checked.ok()) return checked;
    if (rdb::Status noted = Host().NoteDatabase(db_options); !noted.ok()) return noted;
    return MemTableRepFactory::ValidateOptions(db_options, cf_options);
  }

  using MemTableRepFactory::CreateMemTableRep;
  rdb::MemTableRep* CreateMemTableRep(const rdb::MemTableRep::KeyComparator& comparator, rdb::Allocator* allocator,
                                      const rdb::SliceTransform* transform, rdb::Logger* logger) override {
    return Host().Make(comparator, allocator, transform, logger);
  }

  bool IsInsertConcurrentlySupported() const override { return true; }
  bool CanHandleDuplicatedKey() const override { return true; }

 protected:
  // RocksDB forgets the name of an option that was "not found" where it configures the factory from within a longer
  // string.
  rdb::Status ConfigureOptions(const rdb::ConfigOptions& config_options,
                               const std::unordered_map<std::string, std::string>& values,
                               std::unordered_map<std::string, std::string>* unused) override {
    const rdb::Status status = MemTableRepFactory::ConfigureOptions(config_options, values, unused);
    return status.IsNotFound() ? rdb::Status::InvalidArgument(status.getState()) : status;
  }

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
  if (cf_options != nullptr) {
    if (rdb::Status checked = CheckComparator(options, *cf_options); !checked.ok()) return checked;
  }
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

size_t RelieveMemoryPressure() { return PressureHook::Process().OnMemoryPressure(); }

}  // namespace strongbin
