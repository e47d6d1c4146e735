#include <set>
#include <utility>

#include "strongbin/tests/memtable/rocksdb/differential_generator.h"
#include "strongbin/tests/memtable/rocksdb/differential_merge.h"

namespace strongbin::differential {

namespace {

bool IsSingleKey(const std::string& key) {
  return !key.empty() && key[0] >= kSingleRegion &&
         key[0] < kFirstThreadSingleRegion + static_cast<char>(kMaxThreadCount);
}

class SingleDeletes {
 public:
  void KeepAllowed(std::vector<Operation>* operations) {
    std::vector<Operation> kept;
    for (Operation& operation : *operations) {
      if (!Allows(operation)) continue;
      KeepAllowed(&operation.parts);
      kept.push_back(std::move(operation));
    }
    *operations = std::move(kept);
  }

 private:
  bool Allows(const Operation& operation) {
    if (!IsWrite(operation.kind) || !operation.key) return true;
    const std::string& key = *operation.key;
    if (operation.kind == OpKind::kDeleteRange) {
      return key <= *operation.end && (*operation.end <= std::string(1, kSingleRegion) || IsBehindSingleKeys(key));
    }
    const bool single = IsSingleKey(key);
    if (operation.kind == OpKind::kSingleDelete) return single && present_.erase({operation.family, key}) > 0;
    if (!single) return true;
    return operation.kind == OpKind::kPut && present_.insert({operation.family, key}).second;
  }
  static bool IsBehindSingleKeys(const std::string& key) {
    return key >= std::string(1, kFirstThreadSingleRegion + static_cast<char>(kMaxThreadCount));
  }

  std::set<std::pair<uint64_t, std::string>> present_;
};

}  // namespace

void DropUndefined(std::vector<Operation>* operations) { SingleDeletes().KeepAllowed(operations); }

}  // namespace strongbin::differential
