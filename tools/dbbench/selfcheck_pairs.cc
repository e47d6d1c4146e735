// What the harness and the build add to a comparison: checks that run two configurations in turns.
#include <array>
#include <string>
#include <vector>

#include "strongbin/tools/dbbench/environment.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/gate/comparison.h"
#include "strongbin/tools/dbbench/selfcheck.h"
#include "strongbin/tools/dbbench/selfcheck_tools.h"
#include "strongbin/tools/dbbench/session.h"

namespace strongbin::dbbench {
namespace {

constexpr int kPairs = 10;

double RateOf(const Config& config, const std::string& directory) {
  const Report report = RunSession(config, directory);
  return report.rows.empty() ? 0 : report.rows.back().ops_per_second;
}

// Rates of the second by those of the first, in the order ABBA.
std::vector<double> Ratios(const Config& first, const Config& second, const std::string& directory) {
  std::vector<double> ratios;
  for (int pair = 0; pair < kPairs; ++pair) {
    double one = 0, other = 0;
    if (pair % 2 == 0) one = RateOf(first, directory);
    other = RateOf(second, directory);
    if (pair % 2 != 0) one = RateOf(first, directory);
    ratios.push_back(RatioOf(other, one));
  }
  return ratios;
}

std::string Told(const std::vector<double>& ratios) {
  return WithInterval(Median(ratios), MedianInterval(ratios, kConfidence)) + " in " + std::to_string(kPairs) + " pairs";
}

// The latency account costs little.
std::vector<CheckRow> HistogramCost(const CheckContext& context) {
  constexpr double kBound = 0.03;
  Config with = SelfcheckConfig(context.config, {"rocksdb:skip_list"}, {TestKind::kWriteRandom});
  Config without = with;
  without.histogram = false;
  const std::vector<double> ratios = Ratios(with, without, context.directory);
  return {{"rate without the latency account by that with it, rocksdb:skip_list", "<= 1.03, lower end of its interval",
           Told(ratios), MedianInterval(ratios, kConfidence).low <= 1 + kBound}};
}

// What our memtable gains, only where the gap is larger than its spread; run this in builds with and without
// assertions.
std::vector<CheckRow> Gain(const CheckContext& context) {
  std::string assertions;
  for (const auto& [name, value] : DescribeEnvironment(context.directory)) {
    if (name == "assertions, ours") assertions = "assertions: ours " + value;
    if (name == "assertions, RocksDB") assertions += ", RocksDB's " + value.substr(0, value.find(' '));
  }
  const Config skip_list = SelfcheckConfig(context.config, {"rocksdb:skip_list"}, {TestKind::kWriteRandom});
  Config ours = skip_list;
  ours.dbs = {"rocksdb:strongbin"};
  const std::vector<double> gain = Ratios(skip_list, ours, context.directory);
  Config from_malloc = SelfcheckConfig(context.config, {"memtable"}, {TestKind::kWriteRandom});
  from_malloc.chunk_source = SourceChoice::kMalloc;
  from_malloc.pool_cap_bytes = 0;
  Config pooled = from_malloc;
  pooled.chunk_source = SourceChoice::kMmap;
  pooled.pool_cap_bytes = context.config.pool_cap_bytes;
  from_malloc.generations = pooled.generations = 3;
  const std::vector<double> pool = Ratios(from_malloc, pooled, context.directory);
  return {{"rocksdb:strongbin by rocksdb:skip_list, random writes; " + assertions, "interval above 1", Told(gain),
           MedianInterval(gain, kConfidence).low > 1},
          {"the bare component, pool by plain malloc, warm round of random writes; " + assertions, "", Told(pool)}};
}

constexpr std::array<Check, 2> kChecks = {&HistogramCost, &Gain};

}  // namespace

std::span<const Check> PairChecks() { return kChecks; }

}  // namespace strongbin::dbbench
