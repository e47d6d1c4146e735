#include "strongbin/memtable/record_numbers.h"

#include "strongbin/memtable/record_sort.h"

namespace strongbin {

namespace {

// Below, numbers cost more than they win.
constexpr uint64_t kMinNumbered = 64;

// Puts records where the indices in their numbers say, in place.
void Permute(RunRecord* records, uint64_t* numbers, uint64_t count, const RecordNumbers& made_by) {
  for (uint64_t start = 0; start < count; ++start) {
    const RunRecord first = records[start];
    uint64_t to = start;
    for (uint64_t from; (from = made_by.IndexIn(numbers[to])) != start; to = from) {
      records[to] = records[from];
      numbers[to] = made_by.WithIndex(numbers[to], to);
    }
    records[to] = first;
    numbers[to] = made_by.WithIndex(numbers[to], to);
  }
}

void SortGroup(RunRecord* records, uint64_t* numbers, uint64_t count) {
  if (count < kMinNumbered) return SortByBits(records, count);
  RecordSurvey survey(records[0]);
  for (uint64_t i = 1; i < count; ++i) survey.Look(records[i]);
  if (survey.ascends()) return;
  const RecordNumbers number(survey, count);
  for (uint64_t i = 0; i < count; ++i) numbers[i] = number.Of(records[i], i);
  SortNumbers(numbers, count);
  Permute(records, numbers, count, number);
  // Ends soon: what agrees in the numbers' bits differs in fewer.
  SortAgreeing(records, numbers, count, number);
}

}  // namespace

void SortAgreeing(RunRecord* records, uint64_t* numbers, uint64_t count, const RecordNumbers& made_by) {
  for (uint64_t begin = 0, end; begin < count; begin = end) {
    bool ascends = true;
    for (end = begin + 1; end < count && made_by.DifferInIndexOnly(numbers[begin], numbers[end]); ++end) {
      ascends &= records[end - 1].bits() <= records[end].bits();
    }
    if (!ascends) SortGroup(records + begin, numbers + begin, end - begin);
  }
}

}  // namespace strongbin
