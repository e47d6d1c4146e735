#include "strongbin/tests/memtable/rocksdb/differential_side.h"

#include <barrier>
#include <thread>
#include <utility>

#include <rocksdb/write_batch.h>

#include "strongbin/tests/memtable/rocksdb/differential_merge.h"
#include "strongbin/tests/memtable/rocksdb/differential_text.h"

namespace strongbin::differential {

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

const std::string& MarkerKey() {
  static const std::string key(1, kMarkerRegion);
  return key;
}

// Counters hold decimal numbers, all other keys bytes that the seed decides.
std::string ValueOf(const Operation& operation) {
  if (operation.key->starts_with(kCounterRegion)) return std::to_string(operation.value_seed);
  std::string value(operation.value_bytes, '\0');
  uint64_t state = operation.value_seed * 0x9E3779B97F4A7C15 + 1;
  for (char& byte : value) {
    state = state * 6364136223846793005 + 1442695040888963407;
    byte = static_cast<char>('A' + (state >> 33) % 26);
  }
  return value;
}

rdb::Status AddFill(const Operation& operation, const KeyMaker& keys, rdb::ColumnFamilyHandle* family,
                    rdb::WriteBatch* batch) {
  rdb::Status status;
  for (uint64_t i = operation.value_seed; i < operation.value_seed + operation.count && status.ok(); ++i) {
    status = batch->Put(family, keys.Numbered(operation.option == 0 ? i : Scramble(i)), std::to_string(i));
  }
  return status;
}

rdb::Status AddToBatch(const Operation& operation, const KeyMaker& keys, const Instance& instance,
                       rdb::WriteBatch* batch) {
  rdb::ColumnFamilyHandle* family = instance.family(operation.family);
  switch (operation.kind) {
    case OpKind::kPut:
      return batch->Put(family, *operation.key, ValueOf(operation));
    case OpKind::kDelete:
      return batch->Delete(family, *operation.key);
    case OpKind::kSingleDelete:
      return batch->SingleDelete(family, *operation.key);
    case OpKind::kMerge:
      return batch->Merge(family, *operation.key, ValueOf(operation));
    case OpKind::kDeleteRange:
      return batch->DeleteRange(family, *operation.key, *operation.end);
    case OpKind::kFill:
      return AddFill(operation, keys, family, batch);
    default:
      break;
  }
  rdb::Status status;
  for (const Operation& part : operation.parts) {
    if (status.ok()) status = AddToBatch(part, keys, instance, batch);
  }
  return status;
}

}  // namespace

Side::Side(const RoundConfig& config, std::string directory)
    : config_(config),
      keys_(config),
      directory_(std::move(directory)),
      options_(AsOptions(config)),
      write_options_(AsWriteOptions(config)) {}

rdb::Status Side::Open(std::shared_ptr<rdb::MemTableRepFactory> factory) {
  options_.memtable_factory = std::move(factory);
  return primary_.Open(InstanceKind::kPrimary, options_, directory_);
}

void Side::Close() {
  for (auto& iterator : iterators_) iterator.reset();
  for (auto& snapshot : snapshots_) snapshot.reset();
  secondary_.Close();
  primary_.Close();
}

void Side::Execute(const Operation& operation, uint64_t marker, Trace* trace) {
  if (IsWrite(operation.kind)) return Write(operation, marker, trace);
  SharedSnapshot& snapshot = snapshots_[operation.slot % kSlotCount];
  std::unique_ptr<MovedIterator>& iterator = iterators_[operation.slot % kSlotCount];
  const auto new_iterator = [&] { return primary_.NewIterator(SnapshotAt(operation.at), operation); };
  switch (operation.kind) {
    case OpKind::kGet:
      return Get(operation, trace);
    case OpKind::kMultiGet:
      return MultiGet(operation, trace);
    case OpKind::kGetMergeOperands:
      return GetMergeOperands(operation, trace);
    case OpKind::kCounts:
      return ReadCounts(operation, trace);
    case OpKind::kSnapshot:
      if (snapshot == nullptr) snapshot = std::make_shared<rdb::ManagedSnapshot>(primary_.db());
      return;
    case OpKind::kReleaseSnapshot:
      snapshot.reset();
      return;
    case OpKind::kIterate:
      return new_iterator()->Move(operation.parts, trace);
    case OpKind::kOpenIterator:
      iterator = new_iterator();
      return iterator->Move(operation.parts, trace);
    case OpKind::kMoveIterator:
      if (iterator != nullptr) iterator->Move(operation.parts, trace);
      return;
    case OpKind::kCloseIterator:
      iterator.reset();
      return;
    case OpKind::kFlush:
      return Flush(operation, trace);
    case OpKind::kCompact:
      return Compact(operation, trace);
    case OpKind::kCompareAll:
      return CompareAll(trace);
    case OpKind::kReadOnly:
    case OpKind::kSecondary:
      return UseOtherInstance(operation, trace);
    case OpKind::kThreads:
      return RunThreads(operation, trace);
    default:
      return;
  }
}

void Side::Write(const Operation& operation, uint64_t marker, Trace* trace) {
  rdb::WriteBatch batch(0, 0, write_options_.protection_bytes_per_key, 0);
  rdb::Status status = AddToBatch(operation, keys_, primary_, &batch);
  if (status.ok() && marker > 0) status = batch.Put(MarkerKey(), std::to_string(marker));
  if (status.ok()) status = primary_.db()->Write(write_options_, &batch);
  trace->AddStatus(OpKindName(operation.kind), status);
}

uint64_t Side::LastMarker() const {
  std::string marker;
  const rdb::Status status = primary_.db()->Get({}, MarkerKey(), &marker);
  return status.ok() ? DecodeNumber(marker).value_or(0) : 0;
}

std::unique_lock<std::mutex> Side::AloneIfFlushesMayNotRace() {
  return FlushesMayRace() ? std::unique_lock<std::mutex>() : std::unique_lock(flushing_);
}

void Side::Flush(const Operation& operation, Trace* trace) {
  const auto alone = AloneIfFlushesMayNotRace();
  rdb::FlushOptions options;
  options.allow_write_stall = true;
  options.wait = operation.option != 2 || !FlushesMayRace();
  if (operation.option == 1) {
    trace->AddStatus("flush all", primary_.db()->Flush(options, primary_.families()));
  } else {
    trace->AddStatus("flush", primary_.db()->Flush(options, primary_.family(operation.family)));
  }
}

void Side::Compact(const Operation& operation, Trace* trace) {
  const auto alone = AloneIfFlushesMayNotRace();
  rdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rdb::BottommostLevelCompaction::kForceOptimized;
  const rdb::Slice begin = operation.key ? *operation.key : rdb::Slice();
  const rdb::Slice end = operation.end ? *operation.end : rdb::Slice();
  trace->AddStatus("compact",
                   primary_.db()->CompactRange(options, primary_.family(operation.family),
                                               operation.key ? &begin : nullptr, operation.end ? &end : nullptr));
}

void Side::RunThreads(const Operation& operation, Trace* trace) {
  std::vector<Trace> traces(operation.parts.size());
  std::barrier start(static_cast<std::ptrdiff_t>(config_.threads));
  const auto run = [&](uint64_t thread) {
    start.arrive_and_wait();
    for (size_t i = 0; i < traces.size(); ++i) {
      if (operation.parts[i].thread == thread) Execute(operation.parts[i], 0, &traces[i]);
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < config_.threads; ++thread) threads.emplace_back(run, thread);
  for (std::thread& thread : threads) thread.join();
  for (const Trace& part : traces) trace->Append(part);
}

}  // namespace strongbin::differential
