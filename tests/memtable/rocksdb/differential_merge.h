// The merge operator of the differential test, and which keys it counts under.
#pragma once

#include <memory>
#include <string_view>

#include <rocksdb/merge_operator.h>

namespace strongbin::differential {

// The first byte of a key says what may be done with it; other keys are free for all but SingleDelete.
inline constexpr char kCounterRegion = '\xF0';      // values are decimal numbers, operands are added: any order will do
inline constexpr char kFirstThreadRegion = '\xF1';  // one region for each thread
inline constexpr char kSingleRegion = '\xF5';       // Put only where nothing is, then SingleDelete
inline constexpr char kFirstThreadSingleRegion = '\xF6';
inline constexpr char kMarkerRegion = '\xFF';  // which write was the last
inline constexpr uint64_t kMaxThreadCount = 4;

// Operands are appended behind a comma, but added under keys of the counter region.
std::shared_ptr<ROCKSDB_NAMESPACE::AssociativeMergeOperator> NewMergeOperator();

}  // namespace strongbin::differential
