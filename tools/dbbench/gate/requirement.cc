#include "strongbin/tools/dbbench/gate/requirement.h"

#include <charconv>

#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/gate/metrics.h"

namespace strongbin::dbbench {
namespace {

using Relation = Requirement::Relation;

bool ParseBound(std::string_view text, Requirement* requirement) {
  requirement->is_ratio = text.ends_with('x');
  if (requirement->is_ratio) text.remove_suffix(1);
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), requirement->bound);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

bool Holds(const Requirement& requirement, const Comparison& found, double alpha) {
  if (requirement.relation == Relation::kSame) return found.p >= alpha;
  const Interval& interval = requirement.is_ratio ? found.ratio_interval : found.candidate_interval;
  return requirement.relation == Relation::kAtMost ? interval.high <= requirement.bound
                                                   : interval.low >= requirement.bound;
}

std::string Describe(const Requirement& requirement, const Comparison& found) {
  if (requirement.relation == Relation::kSame) {
    return "ratio " + Significant(found.ratio) + ", p " + Significant(found.p) + ", " +
           std::to_string(found.ratios.size()) + " pairs";
  }
  if (requirement.is_ratio) return "ratio " + WithInterval(found.ratio, found.ratio_interval);
  return "candidate " + WithInterval(found.candidate, found.candidate_interval);
}

}  // namespace

bool ParseRequirement(std::string_view text, Requirement* requirement, std::string* error) {
  *requirement = {};
  requirement->text = text;
  const size_t relation = text.find_first_of("<>=");
  if (relation != std::string_view::npos) {
    std::string_view name = text.substr(0, relation);
    const std::string_view rest = text.substr(relation);
    if (const size_t colon = name.find(':'); colon != std::string_view::npos) {
      requirement->test = name.substr(0, colon);
      name.remove_prefix(colon + 1);
    }
    requirement->metric = name;
    bool understood = true;
    if (rest == "=same") {
      requirement->relation = Relation::kSame;
    } else {
      requirement->relation = rest.starts_with(">=") ? Relation::kAtLeast : Relation::kAtMost;
      understood = (rest.starts_with(">=") || rest.starts_with("<=")) && ParseBound(rest.substr(2), requirement);
    }
    if (understood && FindMetric(name) != nullptr) return true;
    if (understood) {
      *error = "no metric is called \"" + std::string(name) + "\"; allowed: " + MetricNames();
      return false;
    }
  }
  *error = "\"" + std::string(text) +
           "\" is no condition; allowed: [TEST:]METRIC<=NUMBER[x], [TEST:]METRIC>=NUMBER[x], "
           "[TEST:]METRIC=same";
  return false;
}

Verdict Judge(const Requirement& requirement, const std::vector<Comparison>& comparisons, double alpha) {
  Verdict verdict;
  bool met = false;
  bool all_hold = true;
  for (const Comparison& found : comparisons) {
    if (found.metric != requirement.metric) continue;
    if (requirement.test.empty() ? found.test == kMeanOfTests : found.test != requirement.test) continue;
    const bool holds = Holds(requirement, found, alpha);
    met = true;
    all_hold &= holds;
    verdict.text += std::string(holds ? "PASS " : "FAIL ") + requirement.text + "  " + found.test + ": " +
                    Describe(requirement, found) + "\n";
  }
  if (!met) verdict.text = "FAIL " + requirement.text + "  was not measured on both sides\n";
  verdict.pass = met && all_hold;
  return verdict;
}

}  // namespace strongbin::dbbench
