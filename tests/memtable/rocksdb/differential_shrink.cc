#include <algorithm>
#include <utility>

#include "strongbin/tests/memtable/rocksdb/differential_generator.h"
#include "strongbin/tests/memtable/rocksdb/differential_supervisor.h"

namespace strongbin::differential {

namespace {

class Shrinker {
 public:
  Shrinker(FailingRound failing, const FactoryNames& factories, size_t run_limit)
      : best_(std::move(failing.round)),
        verdict_(std::move(failing.verdict)),
        factories_(factories),
        runs_left_(run_limit) {}

  // Behind the first difference nothing matters. Returns whether the round still fails.
  bool CutAfterDifference() {
    Round candidate = best_;
    candidate.operations.resize(std::min<size_t>(candidate.operations.size(), verdict_.done_count + 1));
    return TakeIfItFails(std::move(candidate)) || TakeIfItFails(best_);
  }

  // Leaves out stretches, long ones first, then single operations, then parts of those that are left.
  void LeaveOutOperations() {
    LeaveOutFrom([](Round* round) { return &round->operations; });
    for (size_t i = 0; i < best_.operations.size(); ++i) {
      LeaveOutFrom([i](Round* round) { return &round->operations[i].parts; });
    }
  }

  void MakeConfigPlain() {
    const RoundConfig plain;
    for (const auto& [name, member] : ConfigFields()) {
      if (best_.config.*member == plain.*member || member == &RoundConfig::seed) continue;
      Round candidate = best_;
      candidate.config.*member = plain.*member;
      TakeIfItFails(std::move(candidate));
    }
  }

  void MakeFillsSmall() {
    for (size_t i = 0; i < best_.operations.size(); ++i) {
      Round candidate = best_;
      while (candidate.operations[i].count > 1) {
        candidate.operations[i].count /= 2;
        if (!TakeIfItFails(candidate)) break;
      }
    }
  }

  FailingRound Best() const { return {best_, verdict_}; }

 private:
  template <class ListOf>
  void LeaveOutFrom(ListOf list_of) {
    for (size_t stretch = (list_of(&best_)->size() + 1) / 2; stretch > 0; stretch /= 2) {
      for (size_t start = 0; start < list_of(&best_)->size();) {
        Round candidate = best_;
        std::vector<Operation>* operations = list_of(&candidate);
        const auto first = operations->begin() + static_cast<std::ptrdiff_t>(start);
        operations->erase(first, first + static_cast<std::ptrdiff_t>(std::min(stretch, operations->size() - start)));
        const size_t operation_count = candidate.operations.size();
        DropUndefined(&candidate.operations);
        // Parts are found by the place of their operation, so that must not move.
        const bool moved = operations != &candidate.operations && candidate.operations.size() != operation_count;
        if (moved || !TakeIfItFails(std::move(candidate))) start += stretch;
        if (runs_left_ == 0) return;
      }
    }
  }

  bool TakeIfItFails(Round candidate) {
    if (runs_left_ == 0) return false;
    --runs_left_;
    Verdict verdict = RunRound(candidate, factories_);
    if (verdict.same()) return false;
    best_ = std::move(candidate);
    verdict_ = std::move(verdict);
    return true;
  }

  Round best_;
  Verdict verdict_;
  const FactoryNames& factories_;
  size_t runs_left_;
};

}  // namespace

FailingRound Shrink(FailingRound failing, const FactoryNames& factories, size_t run_limit) {
  Shrinker shrinker(std::move(failing), factories, run_limit);
  if (shrinker.CutAfterDifference()) {
    shrinker.LeaveOutOperations();
    shrinker.MakeFillsSmall();
    shrinker.MakeConfigPlain();
  }
  return shrinker.Best();
}

}  // namespace strongbin::differential
