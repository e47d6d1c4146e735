// Numbers of 64 bits that stand for records while these are sorted.
#pragma once

#include <bit>
#include <cstdint>

#include "strongbin/memtable/sorted_run.h"

namespace strongbin {

// What there is to know of records, looked at one by one, before they are sorted.
class RecordSurvey {
 public:
  explicit RecordSurvey(const RunRecord& first) : before_(first) {}

  void Look(const RunRecord& record) {
    prefix_bits_ |= record.prefix ^ before_.prefix;
    rest_bits_ |= record.rest ^ before_.rest;
    ascends_ &= before_.bits() <= record.bits();
    before_ = record;
  }

  bool ascends() const { return ascends_; }
  // The bits that are not the same in all records.
  uint64_t prefix_bits() const { return prefix_bits_; }
  uint64_t rest_bits() const { return rest_bits_; }

 private:
  RunRecord before_;
  uint64_t prefix_bits_ = 0, rest_bits_ = 0;
  bool ascends_ = true;
};

// Makes a number of a record and its index. Numbers of records that differ in certain bits are in the records' order:
// the prefixes' from the first to the last in which the surveyed ones differ, and of the others, from the first such
// on, as many as there is room for above the index. Where those agree, the index decides.
class RecordNumbers {
 public:
  // For `count` surveyed records, of which two or more differ; `count` is at most SortedRun::kChunkRecords.
  RecordNumbers(const RecordSurvey& survey, uint64_t count) : index_mask_(std::bit_ceil(count) - 1) {
    if (survey.prefix_bits() != 0) {
      const int end = std::countr_zero(survey.prefix_bits());
      prefix_shift_ = std::countl_zero(survey.prefix_bits());
      prefix_mask_ = ~uint64_t{0} >> prefix_shift_ >> end << end;
      rest_start_ = 64 - prefix_shift_ - end;
    }
    if (survey.rest_bits() != 0) rest_shift_ = std::countl_zero(survey.rest_bits());
    if (rest_start_ == 64) {
      rest_start_ = 0;
      rest_mask_ = 0;
    }
  }

  uint64_t Of(const RunRecord& record, uint64_t index) const {
    const uint64_t prefix = (record.prefix & prefix_mask_) << prefix_shift_;
    const uint64_t rest = (record.rest << rest_shift_ >> rest_start_) & rest_mask_;
    return ((prefix | rest) & ~index_mask_) | index;
  }
  uint64_t IndexIn(uint64_t number) const { return number & index_mask_; }
  uint64_t WithIndex(uint64_t number, uint64_t index) const { return (number & ~index_mask_) | index; }
  bool DifferInIndexOnly(uint64_t a, uint64_t b) const { return ((a ^ b) & ~index_mask_) == 0; }

 private:
  const uint64_t index_mask_;
  int prefix_shift_ = 0;
  uint64_t prefix_mask_ = 0;
  int rest_shift_ = 0;
  int rest_start_ = 0;
  uint64_t rest_mask_ = ~uint64_t{0};
};

// Sorts by their bits records that are in the order of their `numbers` already, and so but for those whose numbers
// differ in the index only. Changes the numbers. Cost: a pass; where many agree a sort as for the first numbers, of
// other bits.
void SortAgreeing(RunRecord* records, uint64_t* numbers, uint64_t count, const RecordNumbers& made_by);

}  // namespace strongbin
