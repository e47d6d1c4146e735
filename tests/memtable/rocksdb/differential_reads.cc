#include <algorithm>
#include <utility>

#include "strongbin/tests/memtable/rocksdb/differential_merge.h"
#include "strongbin/tests/memtable/rocksdb/differential_side.h"

namespace strongbin::differential {

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

constexpr int kMaxOperands = 1024;

// What the operands come to: that is the same however many of them were already merged.
std::string FoldOperands(const std::string& key, const std::vector<rdb::PinnableSlice>& operands, size_t count) {
  static const auto merge_operator = NewMergeOperator();
  std::string folded = operands[0].ToString();
  for (size_t i = 1; i < count; ++i) {
    const rdb::Slice left = folded;
    std::string merged;
    if (!merge_operator->Merge(key, &left, operands[i], &merged, nullptr)) return "operands that do not merge";
    folded = std::move(merged);
  }
  return folded;
}

}  // namespace

SharedSnapshot Side::SnapshotAt(uint64_t at) const { return at == 0 ? nullptr : snapshots_[(at - 1) % kSlotCount]; }

rdb::ReadOptions Side::ReadOptionsAt(uint64_t at) const {
  rdb::ReadOptions options;
  if (const SharedSnapshot snapshot = SnapshotAt(at)) options.snapshot = snapshot->snapshot();
  return options;
}

void Side::Get(const Operation& operation, Trace* trace) const {
  rdb::PinnableSlice value;
  const rdb::Status status =
      primary_.db()->Get(ReadOptionsAt(operation.at), primary_.family(operation.family), *operation.key, &value);
  trace->AddValue("get", status, value);
}

void Side::MultiGet(const Operation& operation, Trace* trace) const {
  const size_t count = operation.parts.size();
  const rdb::ReadOptions options = ReadOptionsAt(operation.at);
  std::vector<rdb::Slice> keys;
  for (const Operation& part : operation.parts) keys.emplace_back(*part.key);
  if (operation.option == 1) {
    const std::vector<rdb::ColumnFamilyHandle*> families(count, primary_.family(operation.family));
    std::vector<std::string> values;
    const std::vector<rdb::Status> statuses = primary_.db()->MultiGet(options, families, keys, &values);
    for (size_t i = 0; i < count; ++i) trace->AddValue("one of many", statuses[i], values[i]);
    return;
  }
  std::vector<rdb::PinnableSlice> values(count);
  std::vector<rdb::Status> statuses(count);
  primary_.db()->MultiGet(options, primary_.family(operation.family), count, keys.data(), values.data(),
                          statuses.data());
  for (size_t i = 0; i < count; ++i) trace->AddValue("one of many", statuses[i], values[i]);
}

void Side::GetMergeOperands(const Operation& operation, Trace* trace) const {
  std::vector<rdb::PinnableSlice> operands(kMaxOperands);
  rdb::GetMergeOperandsOptions options{.expected_max_number_of_operands = kMaxOperands};
  int count = 0;
  const rdb::ReadOptions read_options = ReadOptionsAt(operation.at);
  rdb::ColumnFamilyHandle* family = primary_.family(operation.family);
  const rdb::Status status =
      primary_.db()->GetMergeOperands(read_options, family, *operation.key, operands.data(), &options, &count);
  if (IsExact(config_)) {
    trace->AddStatus("operands", status);
    for (int i = 0; i < count; ++i) trace->AddValue("operand", status, operands[static_cast<size_t>(i)]);
    return;
  }
  // RocksDB 7.8.3 fails so, by chance, for some keys whose first value is in a memtable that waits for its flush.
  if (status.IsMergeInProgress()) return Get(operation, trace);
  const bool found = status.ok() && count > 0;
  trace->AddValue("get", status, found ? FoldOperands(*operation.key, operands, static_cast<size_t>(count)) : "");
}

void Side::ReadCounts(const Operation& operation, Trace* trace) const {
  rdb::ColumnFamilyHandle* family = primary_.family(operation.family);
  uint64_t estimated_count = 0;
  uint64_t estimated_bytes = 0;
  const std::string last(1, kMarkerRegion);
  primary_.db()->GetApproximateMemTableStats(family, {"", last}, &estimated_count, &estimated_bytes);
  // Two estimates may differ, but neither finds entries without bytes, or more than any round writes.
  trace->Add("estimate",
             estimated_count <= (1 << 20) && (estimated_count > 0) == (estimated_bytes > 0) ? "sane" : "not sane");
  if (!IsExact(config_)) return;
  for (const std::string& property :
       {rdb::DB::Properties::kNumEntriesActiveMemTable, rdb::DB::Properties::kNumEntriesImmMemTables,
        rdb::DB::Properties::kNumDeletesActiveMemTable, rdb::DB::Properties::kNumDeletesImmMemTables,
        rdb::DB::Properties::kNumImmutableMemTable}) {
    std::string value;
    const bool known = primary_.db()->GetProperty(family, property, &value);
    trace->Add(property, known ? value : "unknown");
  }
}

void Side::CompareAll(Trace* trace) {
  primary_.ReadAll(nullptr, trace);
  for (const SharedSnapshot& snapshot : snapshots_) {
    if (snapshot != nullptr) primary_.ReadAll(snapshot, trace);
  }
  for (const auto& iterator : iterators_) {
    if (iterator != nullptr) iterator->MoveOverAll(trace);
  }
}

void Side::UseOtherInstance(const Operation& operation, Trace* trace) {
  rdb::DB* primary = primary_.db();
  rdb::FlushOptions flush;
  flush.allow_write_stall = true;
  // Without a log the others see what is in files.
  if (config_.disable_wal != 0) trace->AddStatus("flush", primary->Flush(flush, primary_.families()));
  // Opening reads a list of files, then the files: none may go meanwhile.
  trace->AddStatus("pause", primary->PauseBackgroundWork());
  trace->AddStatus("keep files", primary->DisableFileDeletions());
  if (operation.kind == OpKind::kReadOnly) {
    Instance read_only;
    const rdb::Status status = read_only.Open(InstanceKind::kReadOnly, options_, directory_);
    trace->AddStatus("open read-only", status);
    if (status.ok()) read_only.ReadAll(nullptr, trace);
  } else {
    if (!secondary_.is_open()) {
      trace->AddStatus("open secondary", secondary_.Open(InstanceKind::kSecondary, options_, directory_));
    }
    if (secondary_.is_open()) {
      trace->AddStatus("catch up", secondary_.db()->TryCatchUpWithPrimary());
      secondary_.ReadAll(nullptr, trace);
    }
    if (operation.option == 1) secondary_.Close();
  }
  trace->AddStatus("delete files", primary->EnableFileDeletions(false));
  trace->AddStatus("continue", primary->ContinueBackgroundWork());
}

}  // namespace strongbin::differential
