#include "strongbin/memtable/record_sort.h"

#include <cstddef>

#include <hwy/contrib/sort/vqsort.h>
#include <pdqsort.h>

namespace strongbin {

namespace {

// From here on the vector sort is faster; below, its set-up and small cases cost more than they win.
constexpr uint64_t kMinVectorCount = 4096;
constexpr uint64_t kMinVectorNumbers = 256;

static_assert(sizeof(RunRecord) == sizeof(hwy::uint128_t));
static_assert(offsetof(RunRecord, rest) == offsetof(hwy::uint128_t, lo));
static_assert(offsetof(RunRecord, prefix) == offsetof(hwy::uint128_t, hi));

}  // namespace

void SortByBits(RunRecord* records, uint64_t count) {
  if (count < kMinVectorCount) {
    pdqsort_branchless(records, records + count,
                       [](const RunRecord& a, const RunRecord& b) { return a.bits() < b.bits(); });
    return;
  }
  const hwy::Sorter sorter;
  sorter(reinterpret_cast<hwy::uint128_t*>(records), count, hwy::SortAscending());
}

void SortNumbers(uint64_t* numbers, uint64_t count) {
  if (count < kMinVectorNumbers) {
    pdqsort_branchless(numbers, numbers + count);
    return;
  }
  const hwy::Sorter sorter;
  sorter(numbers, count, hwy::SortAscending());
}

}  // namespace strongbin
