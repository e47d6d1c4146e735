#include "strongbin/tests/memtable/rocksdb/differential_merge.h"

#include <string>

#include <rocksdb/slice.h>

#include "strongbin/tests/memtable/rocksdb/differential_text.h"

namespace strongbin::differential {

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

class AppendOrAdd final : public rdb::AssociativeMergeOperator {
 public:
  bool Merge(const rdb::Slice& key, const rdb::Slice* existing, const rdb::Slice& operand, std::string* merged,
             rdb::Logger*) const override {
    if (existing == nullptr) {
      merged->assign(operand.data(), operand.size());
      return true;
    }
    if (key.starts_with(rdb::Slice(&kCounterRegion, 1))) {
      const auto left = DecodeNumber(existing->ToStringView());
      const auto right = DecodeNumber(operand.ToStringView());
      if (!left || !right) return false;
      *merged = std::to_string(*left + *right);
      return true;
    }
    merged->reserve(existing->size() + 1 + operand.size());
    merged->assign(existing->data(), existing->size());
    merged->append(1, ',').append(operand.data(), operand.size());
    return true;
  }
  const char* Name() const override { return "AppendOrAdd"; }
};

}  // namespace

std::shared_ptr<rdb::AssociativeMergeOperator> NewMergeOperator() { return std::make_shared<AppendOrAdd>(); }

}  // namespace strongbin::differential
