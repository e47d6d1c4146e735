#include "strongbin/tests/memtable/rocksdb/differential_instance.h"

#include "strongbin/tests/memtable/rocksdb/differential_config.h"

namespace strongbin::differential {

namespace rdb = ROCKSDB_NAMESPACE;

rdb::Status Instance::Open(InstanceKind kind, const rdb::Options& options, const std::string& directory) {
  std::vector<rdb::ColumnFamilyDescriptor> descriptors = {{rdb::kDefaultColumnFamilyName, options}};
  while (descriptors.size() < kFamilyCount)
    descriptors.emplace_back("family" + std::to_string(descriptors.size()), options);
  rdb::DB* db = nullptr;
  rdb::Status status;
  switch (kind) {
    case InstanceKind::kPrimary:
      status = rdb::DB::Open(options, directory, descriptors, &families_, &db);
      break;
    case InstanceKind::kReadOnly:
      status = rdb::DB::OpenForReadOnly(options, directory, descriptors, &families_, &db);
      break;
    case InstanceKind::kSecondary:
      status = rdb::DB::OpenAsSecondary(options, directory, directory + "-secondary", descriptors, &families_, &db);
      break;
  }
  db_.reset(db);
  // Values that are updated in place cannot be pinned, so RocksDB refuses to go backward over them, but not once they
  // are flushed.
  only_forward_ = options.inplace_update_support;
  return status;
}

void Instance::Close() {
  if (!is_open()) return;
  for (rdb::ColumnFamilyHandle* family : families_) db_->DestroyColumnFamilyHandle(family).PermitUncheckedError();
  families_.clear();
  db_.reset();
}

std::unique_ptr<MovedIterator> Instance::NewIterator(const SharedSnapshot& snapshot, const Operation& operation) const {
  return std::make_unique<MovedIterator>(db_.get(), family(operation.family), snapshot, operation, only_forward_);
}

void Instance::ReadAll(const SharedSnapshot& snapshot, Trace* trace) const {
  rdb::ReadOptions options;
  if (snapshot != nullptr) options.snapshot = snapshot->snapshot();
  options.total_order_seek = true;
  for (uint64_t number = 0; number < families_.size(); ++number) {
    NewIterator(snapshot, {.family = number})->MoveOverAll(trace);
    std::string value;
    const std::unique_ptr<rdb::Iterator> iterator(db_->NewIterator(options, family(number)));
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      const rdb::Status status = db_->Get(options, family(number), iterator->key(), &value);
      trace->AddValue("get", status, value);
    }
    trace->AddStatus("end of scan", iterator->status());
  }
}

}  // namespace strongbin::differential
