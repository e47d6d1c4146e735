// What a comparison must show.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strongbin/tools/dbbench/gate/comparison.h"

namespace strongbin::dbbench {

// One condition: [TEST:]METRIC<=NUMBERx, [TEST:]METRIC>=NUMBERx on the ratio of candidate to baseline, the same without
// x on the candidate alone, or [TEST:]METRIC=same. Without a test it holds for each; the test "mean" is the geometric
// mean over all tests.
struct Requirement {
  enum class Relation { kAtMost, kAtLeast, kSame };

  std::string text;
  std::string test;  // empty: each
  std::string metric;
  Relation relation = Relation::kAtMost;
  double bound = 0;
  bool is_ratio = false;
};

// False, with a sentence that names what is allowed, when the text is none.
bool ParseRequirement(std::string_view text, Requirement* requirement, std::string* error);

struct Verdict {
  bool pass = false;
  std::string text;  // one line a test, for people
};

// A bound holds when the whole 95 % interval lies on its side; "same" when the Mann-Whitney test does not tell the
// sides apart at `alpha`. What was not measured does not pass.
Verdict Judge(const Requirement& requirement, const std::vector<Comparison>& comparisons, double alpha);

}  // namespace strongbin::dbbench
