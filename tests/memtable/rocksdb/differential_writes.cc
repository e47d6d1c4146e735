#include "strongbin/tests/memtable/rocksdb/differential_writes.h"

#include <tuple>
#include <utility>

#include "strongbin/tests/memtable/rocksdb/differential_merge.h"

namespace strongbin::differential {

namespace {

OpKind RandomKind(bool with_range_deletes, bool with_batches, Random* random) {
  const uint64_t choice = Below(random, 100);
  if (choice < 15) return OpKind::kDelete;
  if (choice < 33) return OpKind::kMerge;
  if (choice < 45) return OpKind::kSingleDelete;
  if (choice < 48 && with_range_deletes) return OpKind::kDeleteRange;
  if (choice < 55 && with_batches) return OpKind::kBatch;
  return OpKind::kPut;
}

uint64_t ValueBytes(const Place& place, Random* random) {
  const uint64_t choice = Below(random, 200);
  if (choice < 120) return Below(random, 40);
  if (choice < 180) return 40 + Below(random, 200);
  if (choice < 199 || place.shared) return Below(random, 4096);
  return Below(random, 100 * 1024);
}

}  // namespace

Operation WriteMaker::Make(const Place& place, Random* random) {
  const OpKind kind = RandomKind(with_range_deletes_, true, random);
  if (kind != OpKind::kBatch) return MakeOne(kind, place, random);
  Operation batch{.kind = kind};
  const uint64_t count = OneIn(random, 10) ? Below(random, 100) : Below(random, 8);
  while (batch.parts.size() < count) {
    batch.parts.push_back(MakeOne(RandomKind(with_range_deletes_, false, random), place, random));
    // One key again within the batch, mostly by another kind of write.
    const std::string& again = *batch.parts[Below(random, batch.parts.size())].key;
    const bool counter = again.starts_with(kCounterRegion);
    if (!counter && OneIn(random, 4)) batch.parts.back().key = again;
  }
  return batch;
}

Operation WriteMaker::MakeOne(OpKind kind, const Place& place, Random* random) {
  Operation operation{.kind = kind, .family = Below(random, kFamilyCount)};
  if (kind == OpKind::kSingleDelete) {
    ChooseSingle(place, random, &operation);
  } else if (kind == OpKind::kDeleteRange) {
    std::tie(operation.key, operation.end) = keys_.MakeRange(place.plain, random);
  } else {
    // Threads beside each other may only add to a counter.
    const bool counts = place.shared ? kind == OpKind::kMerge && OneIn(random, 2) : OneIn(random, 10);
    operation.key = keys_.Make(counts ? std::string(1, kCounterRegion) : place.plain, random);
  }
  if (operation.kind == OpKind::kPut || operation.kind == OpKind::kMerge) {
    operation.value_seed = Below(random, 1'000'000);
    operation.value_bytes = ValueBytes(place, random);
  }
  return operation;
}

// Puts a key of the single region, or deletes one that was put.
void WriteMaker::ChooseSingle(const Place& place, Random* random, Operation* operation) {
  std::vector<Operation>& puts = single_puts_[place.single];
  if (puts.empty() || OneIn(random, 2)) {
    operation->kind = OpKind::kPut;
    operation->key = keys_.Make(place.single, random);
    puts.push_back(*operation);
    return;
  }
  std::swap(puts[Below(random, puts.size())], puts.back());
  operation->family = puts.back().family;
  operation->key = std::move(puts.back().key);
  puts.pop_back();
}

}  // namespace strongbin::differential
