#include <algorithm>
#include <utility>

#include "strongbin/tests/memtable/rocksdb/differential_generator.h"
#include "strongbin/tests/memtable/rocksdb/differential_supervisor.h"

namespace strongbin::differential {

namespace {

class Shrinker {
 public:
  Shrinker(Round round, const FactoryNames& factories, size_t run_limit)
      : best_(std::move(round)), factories_(factories), runs_left_(run_limit) {}

  // Behind the first difference nothing matters. Returns whether the round still fails.
  bool CutAfter(uint64_t done_count) {
    Round candidate = best_;
    candidate.operations.resize(std::min<size_t>(candidate.operations.size(), done_count + 1));
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

  const Round& best() const { return best_; }

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
    if (RunRound(candidate, factories_).same()) return false;
    best_ = std::move(candidate);
    return true;
  }

  Round best_;
  const FactoryNames& factories_;
  size_t runs_left_;
};

}  // namespace

Round Shrink(const Round& round, uint64_t done_count, const FactoryNames& factories, size_t run_limit) {
  Shrinker shrinker(round, factories, run_limit);
  if (!shrinker.CutAfter(done_count)) return round;
  shrinker.LeaveOutOperations();
  shrinker.MakeFillsSmall();
  shrinker.MakeConfigPlain();
  return shrinker.best();
}

}  // namespace strongbin::differential
