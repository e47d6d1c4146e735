#include <filesystem>
#include <string>
#include <string_view>

#include <gflags/gflags.h>

#include "strongbin/tools/command_line.h"
#include "strongbin/tools/dbbench/flags.h"
#include "strongbin/tools/dbbench/gate/gate.h"

DEFINE_string(baseline, "", "one side: words of --FLAG=VALUE, ENGINE, pool=off, pool=BYTES, lib=PATH, dbbench=PATH");
DEFINE_string(candidate, "", "the other side, written the same way");
DEFINE_string(
    require, "",
    "a condition, may be given several times: [TEST:]METRIC<=NUMBER[x], [TEST:]METRIC>=NUMBER[x] (x: the ratio "
    "of candidate to baseline, by its 95 % interval) or [TEST:]METRIC=same (by the Mann-Whitney test)");
DEFINE_uint64(pairs, 20, "pairs of runs that count");
DEFINE_double(narrow, 0,
              "also enough, from 7 pairs on: the 95 % interval of each required ratio reaches at most this share to "
              "either side of it; 0: never");
DEFINE_double(max_minutes, 0, "most minutes; what was measured until then is judged; 0: no limit");
DEFINE_double(alpha, 0.001, "probability of an error below which the Mann-Whitney test tells the sides apart");
DEFINE_string(results, "dbbench-gate.jsonl",
              "file for the raw results, one line a pair; an interrupted gate goes on from it");
DEFINE_double(
    quiet_processors, 0.5,
    "a pair counts as disturbed when others used more processors than this during one of its runs; the kernel's "
    "own threads, which write out what a run syncs, are among them");
DEFINE_double(wait_quiet_seconds, 20, "longest wait for a quiet moment before each run");
DEFINE_uint64(max_repeats, 20, "most disturbed pairs that are repeated; further ones count and are marked");
DEFINE_bool(drop_caches, true, "write out and drop the page cache before each run, where that is permitted");

namespace strongbin::dbbench {
namespace {

constexpr std::string_view kOwnFile = "gate/gate_flags.cc";

// --require=X and --require X, each time it is there; gflags keeps the last alone.
std::vector<std::string> Requirements(int argc, char** argv) {
  std::vector<std::string> texts;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    word.remove_prefix(word.starts_with("--") ? 2 : (word.starts_with("-") ? 1 : 0));
    if (word.starts_with("require=")) texts.emplace_back(word.substr(8));
    if (word == "require" && i + 1 < argc) texts.emplace_back(argv[++i]);
  }
  return texts;
}

std::string ReadSide(const char* flag, const std::string& text, Side* side) {
  std::string error;
  if (text.empty()) return std::string("gate needs --") + flag;
  return ParseSide(text, side, &error) ? std::string() : std::string("--") + flag + ": " + error;
}

}  // namespace

std::string ReadGateFlags(int argc, char** argv, GateConfig* gate) {
  if (std::string error = ReadSide("baseline", FLAGS_baseline, &gate->baseline); !error.empty()) return error;
  if (std::string error = ReadSide("candidate", FLAGS_candidate, &gate->candidate); !error.empty()) return error;
  for (const std::string& text : Requirements(argc, argv)) {
    std::string error;
    if (!ParseRequirement(text, &gate->requirements.emplace_back(), &error)) return "--require: " + error;
  }
  // Where a run reports to and works in is the gate's to say.
  gate->common_flags = GivenRunFlags({"format", "out", "progress", "db"});
  if (FLAGS_pairs == 0) return "--pairs: allowed: 1 or more";
  if (!(FLAGS_alpha > 0 && FLAGS_alpha < 1)) return "--alpha: allowed: between 0 and 1";
  if (!(FLAGS_narrow >= 0) || !(FLAGS_max_minutes >= 0) || !(FLAGS_quiet_processors >= 0) ||
      !(FLAGS_wait_quiet_seconds >= 0)) {
    return "--narrow, --max_minutes, --quiet_processors, --wait_quiet_seconds: allowed: 0 or more";
  }
  gate->pairs = FLAGS_pairs;
  gate->narrow = FLAGS_narrow;
  gate->max_minutes = FLAGS_max_minutes;
  gate->alpha = FLAGS_alpha;
  gate->results_path = FLAGS_results;
  gate->limits.others = FLAGS_quiet_processors;
  gate->wait_quiet_seconds = FLAGS_wait_quiet_seconds;
  gate->max_repeats = FLAGS_max_repeats;
  gate->drop_caches = FLAGS_drop_caches;
  return {};
}

std::string GateFlagList() { return FlagList(kOwnFile); }

}  // namespace strongbin::dbbench
