// Keys and sequences in the orders that tables are filled in, for random tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/table_model.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {

enum class History : uint8_t { kAscending, kAscendingThenRandom, kRandom };

// What is appended next, and what is looked for.
class KeyHistory {
 public:
  // `ascending_count`: of kAscendingThenRandom; a base above 64 entries stays a base, a smaller one is indexed.
  KeyHistory(History history, size_t ascending_count, bool huge, Random* random)
      : history_(history), ascending_count_(ascending_count), huge_(huge), random_(random) {}

  ModelKey Next(const Model& model) {
    ++appended_;
    if (Ascends()) {
      // The next version of the last key, or a key behind it.
      if (last_.sequence > 0 && OneIn(random_, 4)) {
        last_.sequence -= 1 + Below(random_, std::min<uint64_t>(last_.sequence, 3));
        return last_;
      }
      last_.key = OneIn(random_, 3) ? last_.key + RandomKey(random_, false) + '\0' : NumberKey(++ascending_number_, 12);
      last_.sequence = Below(random_, 50);
      return last_;
    }
    ModelKey key{.key = RandomKey(random_, huge_), .sequence = ++next_sequence_};
    if (!model.empty() && OneIn(random_, 3)) key.key = SomeKey(model);
    if (OneIn(random_, 4))
      key.sequence = Below(random_, next_sequence_ + 1);  // out of order, and now and then a duplicate
    if (OneIn(random_, 500)) key.sequence = kMaxSequence - Below(random_, 2);
    return key;
  }

  // A key that is there. Requires that there is one.
  std::string SomeKey(const Model& model) {
    const auto it = model.lower_bound({RandomKey(random_, false), kMaxSequence});
    return it == model.end() ? model.begin()->first.key : it->first.key;
  }
  // A key that is there, or beside one that is there, or any.
  std::string ProbeKey(const Model& model) {
    if (model.empty() || OneIn(random_, 3)) return RandomKey(random_, huge_);
    std::string key = SomeKey(model);
    if (OneIn(random_, 4)) key += '\0';
    if (OneIn(random_, 6) && !key.empty()) key.pop_back();
    return key;
  }
  Sequence RandomSnapshot() {
    return OneIn(random_, 2) ? kMaxSequence : Below(random_, std::max<uint64_t>(next_sequence_, 60) + 1);
  }

  // As new.
  void Restart() {
    last_ = {};
    ascending_number_ = 0;
    appended_ = 0;
    next_sequence_ = 0;
  }

 private:
  bool Ascends() const {
    return history_ == History::kAscending ||
           (history_ == History::kAscendingThenRandom && appended_ < ascending_count_);
  }

  const History history_;
  const size_t ascending_count_;
  const bool huge_;
  Random* const random_;
  ModelKey last_;
  uint64_t ascending_number_ = 0;
  size_t appended_ = 0;
  Sequence next_sequence_ = 0;
};

// Runs `run(seed)` for some seeds, or from the one that STRONGBIN_TEST_SEED names on, until one fails.
template <class Run>
void ForSeeds(uint64_t usual_count, const Run& run) {
  const char* chosen_seed = std::getenv("STRONGBIN_TEST_SEED");
  const uint64_t first_seed = chosen_seed != nullptr ? std::strtoull(chosen_seed, nullptr, 10) : 1;
  const uint64_t seed_count = WideTests() ? 200 : usual_count;
  for (uint64_t seed = first_seed; seed < first_seed + seed_count; ++seed) {
    SCOPED_TRACE("STRONGBIN_TEST_SEED=" + std::to_string(seed));
    run(seed);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace strongbin
