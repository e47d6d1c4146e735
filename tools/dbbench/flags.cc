#include "strongbin/tools/dbbench/flags.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <unistd.h>

#include <gflags/gflags.h>

#include "strongbin/tools/command_line.h"
#include "strongbin/tools/dbbench/engine.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/gate/gate.h"
#include "strongbin/tools/dbbench/page/page.h"
#include "strongbin/tools/dbbench/selfcheck.h"
#include "strongbin/tools/dbbench/suite.h"

DEFINE_string(dbs, "memtable,rocksdb:strongbin,rocksdb:skip_list",
              "engines, by comma: memtable (the bare component), kv (a small durable store around it), "
              "rocksdb:strongbin, rocksdb:skip_list, rocksdb:vector, "
              "rocksdb:prefix_hash, rocksdb:NAME for any memtable factory that RocksDB knows by name, none (does "
              "nothing; shows the cost of the harness); --profile=durable leaves out of the default what has no log");
DEFINE_string(
    tests, "dataset_write_random,dataset_write_sorted",
    "tests, by comma: dataset_write_random, dataset_write_sorted, overwrite, readrandom, seekrandom, readseq, mixed");
DEFINE_uint64(keys, 2'000'000, "distinct keys of the data set, in all threads together");
DEFINE_uint64(reads, 0, "operations of readrandom, seekrandom and mixed, in all threads together; 0: as many as keys");
DEFINE_uint64(latency_ops, 100'000,
              "operations of the separate run that times each operation by itself; 0: no such run");
DEFINE_uint64(keysize, 16, "bytes of a key");
DEFINE_uint64(valsize, 128, "bytes of a value");
DEFINE_uint64(batchsize, 1000, "entries of a write batch, and reads between two looks at the clock");
DEFINE_uint64(threads, 1, "threads that share the work");
DEFINE_uint64(seed, 1, "seed of keys, values and choices; the same seed gives the same work on every engine");
DEFINE_string(label, "", "free words that are kept with the results");
DEFINE_string(profile, "fast", "fast: no write-ahead log; durable: write-ahead log and fsync for each batch");
DEFINE_uint64(memtable_bytes, uint64_t{64} << 20, "size at which a memtable is full, on every engine");
DEFINE_uint64(pool_cap_bytes, uint64_t{128} << 20,
              "most idle bytes that the chunk pool keeps, also inside RocksDB; 0: pool off");
DEFINE_string(chunk_source, "mmap", "memory behind chunks: mmap or malloc");
DEFINE_string(huge_pages, "on", "ask for huge pages behind large chunks, also inside RocksDB: on or off");
DEFINE_bool(histogram, true, "measure latency");
DEFINE_bool(checkpoint_between_tests, false,
            "flush, wait for compaction and drop caches and idle chunks between tests");
DEFINE_uint64(generations, 1, "rounds of each write test: fill, drain, reset; each round is a row of its own");
DEFINE_double(rate, 0, "operations per second that arrive, whether or not the engine keeps up; 0: as fast as it goes");
DEFINE_double(max_seconds, 600, "most seconds for one row, its loading included; 0: no limit");
DEFINE_string(format, "markdown", "markdown, json or csv");
DEFINE_string(out, "", "file for the report; empty: standard output");
DEFINE_bool(progress, true, "a line with rate and time left, when standard error is a terminal");
DEFINE_double(stats_interval, 0,
              "seconds between lines on standard error with operations, resident size and pool; 0: none");
DEFINE_uint64(timeline_ms, 0,
              "milliseconds between samples of operations, resident size and pool in the JSON report; 0: none");
DEFINE_string(profile_dir, "", "directory for a CPU and a heap profile of each test; `dbbench profile DIR` shows them");
DEFINE_string(db, "", "directory for the files of engines; empty: a fresh one below the temporary directory");
DEFINE_uint64(inject_pause_ms, 0,
              "one pause of this length in the middle of each run, to see that the latency account shows it");
DEFINE_double(inject_slowdown, 0, "share of its rate that each run loses, below 1, to see that a comparison shows it");

namespace strongbin::dbbench {
namespace {

constexpr std::string_view kOwnFile = "dbbench/flags.cc";

std::vector<std::string> Split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

template <size_t N>
std::string Join(const std::array<std::string_view, N>& names) {
  std::string text;
  for (std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

// Checks values and collects the first complaint.
class Checker {
 public:
  template <class E, size_t N>
  void Choice(std::string_view flag, const std::string& value, const std::array<std::string_view, N>& names,
              E* result) {
    if (const auto position = Find(names, value)) {
      *result = static_cast<E>(*position);
    } else {
      Complain(flag, value, "allowed: " + Join(names));
    }
  }

  template <class T>
  void Range(std::string_view flag, uint64_t value, uint64_t low, uint64_t high, T* result) {
    if (value < low || value > high) {
      Complain(flag, std::to_string(value), "allowed: " + Grouped(low) + " to " + Grouped(high));
    }
    *result = static_cast<T>(value);
  }

  void NotNegative(std::string_view flag, double value, double* result) {
    if (!(value >= 0) || !std::isfinite(value)) Complain(flag, std::to_string(value), "allowed: 0 or more");
    *result = value;
  }

  void Complain(std::string_view flag, std::string_view value, std::string_view allowed) {
    if (!error_.empty()) return;
    error_.append("--").append(flag).append("=").append(value).append(": ").append(allowed);
  }

  const std::string& error() const { return error_; }

 private:
  std::string error_;
};

void CheckLists(Checker& checker, Config* config) {
  config->dbs = Split(FLAGS_dbs);
  // So that a gate's flags, which both sides add their engines to, need none of their own.
  if (FLAGS_profile == "durable" && gflags::GetCommandLineFlagInfoOrDie("dbs").is_default) {
    std::erase_if(config->dbs, [](const std::string& name) { return !HasWriteAheadLog(name); });
  }
  if (config->dbs.empty()) checker.Complain("dbs", FLAGS_dbs, "allowed: " + EngineNames());
  for (const std::string& name : config->dbs) {
    if (const std::string reason = CheckEngineName(name); !reason.empty()) checker.Complain("dbs", name, reason);
  }
  const std::vector<std::string> tests = Split(FLAGS_tests);
  if (tests.empty()) checker.Complain("tests", FLAGS_tests, "allowed: " + Join(kTestNames));
  for (const std::string& name : tests) {
    TestKind test = TestKind::kWriteRandom;
    checker.Choice("tests", name, kTestNames, &test);
    config->tests.push_back(test);
  }
}

// What is wrong only together with another flag.
void CheckTogether(Checker& checker, const Config& config) {
  if (config.key_bytes < 8 && config.keys > uint64_t{1} << (8 * config.key_bytes)) {
    checker.Complain(
        "keysize", std::to_string(config.key_bytes),
        "keys of this size give fewer than --keys=" + std::to_string(config.keys) + " distinct ones; use 8 or more");
  }
  const uint64_t memory_bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t operations = std::max(config.keys, config.reads);
  if (operations > memory_bytes / 2 / config.key_bytes) {
    checker.Complain(
        "keys", std::to_string(config.keys),
        "keys are made ahead of the clock and would take more than half of this machine's memory; allowed: up to " +
            Grouped(memory_bytes / 2 / config.key_bytes));
  }
  if (config.profile == Profile::kDurable) {
    for (const std::string& name : config.dbs) {
      if (HasWriteAheadLog(name)) continue;
      checker.Complain(
          "profile", "durable",
          "engine " + name + " has no write-ahead log to make durable; use --profile=fast or leave it out of --dbs");
    }
  }
}

}  // namespace

ParsedFlags ParseFlags(int argc, char** argv) {
  ParsedFlags parsed;
  Config& config = parsed.config;
  for (int i = 0; i < argc; ++i) config.command_line.append(i == 0 ? "" : " ").append(argv[i]);
  const CommandLine line = ParseCommandLine(argc, argv);
  parsed.words = line.words;
  parsed.help = line.help;
  if (parsed.help) return parsed;

  Checker checker;
  CheckLists(checker, &config);
  constexpr uint64_t kMany = uint64_t{1} << 40;
  checker.Range("keys", FLAGS_keys, 1, kMany, &config.keys);
  checker.Range("reads", FLAGS_reads, 0, kMany, &config.reads);
  checker.Range("latency_ops", FLAGS_latency_ops, 0, kMany, &config.latency_ops);
  checker.Range("keysize", FLAGS_keysize, 1, uint64_t{1} << 20, &config.key_bytes);
  checker.Range("valsize", FLAGS_valsize, 0, uint64_t{1} << 30, &config.value_bytes);
  checker.Range("batchsize", FLAGS_batchsize, 1, uint64_t{1} << 24, &config.batch_entries);
  checker.Range("threads", FLAGS_threads, 1, 1024, &config.threads);
  checker.Range("memtable_bytes", FLAGS_memtable_bytes, uint64_t{64} << 10, uint64_t{1} << 36, &config.memtable_bytes);
  checker.Range("pool_cap_bytes", FLAGS_pool_cap_bytes, 0, uint64_t{1} << 40, &config.pool_cap_bytes);
  checker.Range("generations", FLAGS_generations, 1, 1'000'000, &config.generations);
  checker.Range("inject_pause_ms", FLAGS_inject_pause_ms, 0, 600'000, &config.inject_pause_ms);
  checker.Range("timeline_ms", FLAGS_timeline_ms, 0, 600'000, &config.timeline_ms);
  checker.Choice("profile", FLAGS_profile, kProfileNames, &config.profile);
  checker.Choice("chunk_source", FLAGS_chunk_source, kSourceNames, &config.chunk_source);
  checker.Choice("huge_pages", FLAGS_huge_pages, kSwitchNames, &config.huge_pages);
  checker.Choice("format", FLAGS_format, kFormatNames, &config.format);
  checker.NotNegative("rate", FLAGS_rate, &config.rate_per_second);
  checker.NotNegative("max_seconds", FLAGS_max_seconds, &config.max_seconds);
  checker.NotNegative("stats_interval", FLAGS_stats_interval, &config.stats_interval_seconds);
  checker.NotNegative("inject_slowdown", FLAGS_inject_slowdown, &config.inject_slowdown);
  if (config.inject_slowdown >= 1)
    checker.Complain("inject_slowdown", Plain(config.inject_slowdown), "allowed: below 1");
  if (config.reads == 0) config.reads = config.keys;
  config.seed = FLAGS_seed;
  config.label = FLAGS_label;
  config.histogram = FLAGS_histogram;
  config.checkpoint_between_tests = FLAGS_checkpoint_between_tests;
  config.out_path = FLAGS_out;
  config.progress = FLAGS_progress;
  config.profile_dir = FLAGS_profile_dir;
  config.db_dir = FLAGS_db;
  if (checker.error().empty()) CheckTogether(checker, config);
  parsed.error = checker.error();
  return parsed;
}

std::vector<std::string> GivenRunFlags(const std::vector<std::string_view>& except) {
  std::vector<std::string> given;
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (!std::string_view(flag.filename).ends_with(kOwnFile) || flag.is_default) continue;
    if (std::find(except.begin(), except.end(), flag.name) != except.end()) continue;
    given.push_back("--" + flag.name + "=" + flag.current_value);
  }
  return given;
}

std::string UsageText() {
  return "dbbench [flags]\n"
         "  Runs named tests against named engines and reports. Without flags: the default comparison.\n"
         "dbbench selfcheck [GROUP...] [flags]\n"
         "  Checks the harness itself and its bounds; exit status 1 when one does not hold. Groups:\n"
         "  " +
         CheckGroupNames() +
         ".\n"
         "dbbench gate --baseline=SIDE --candidate=SIDE [--require=CONDITION ...] [flags]\n"
         "  Runs two configurations in turns and holds them to conditions; exit status 1 when one does not hold.\n"
         "dbbench profile DIR\n"
         "  Shows the profiles of a run with --profile_dir=DIR beside what was counted.\n"
         "dbbench report FILE... [--html=FILE] [--markdown=FILE]\n"
         "  Makes a page of reports in JSON and of raw results of gates.\n"
         "dbbench suite quick|full|paper\n"
         "  Runs all that such a page shows and makes it.\n"
         "dbbench cursor [flags]\n"
         "  Shows what an allocation costs behind many filled buffers.\n"
         "\nFlags:\n" +
         FlagList(kOwnFile) + "\nFlags of gate:\n" + GateFlagList() + "\nFlags of report:\n" + PageFlagList() +
         "\nFlags of suite:\n" + SuiteFlagList();
}

}  // namespace strongbin::dbbench
