#include "strongbin/tools/strongbin_stat/flags.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include <gflags/gflags.h>

#include "strongbin/tools/command_line.h"

DEFINE_bool(watch, false, "a live view in the terminal, until Ctrl-C");
DEFINE_bool(json, false, "all numbers as one JSON object");
DEFINE_bool(prometheus, false, "all numbers as Prometheus text, for the textfile collector of its node exporter");
DEFINE_bool(csv, false, "one line of sums over all pools and tables every --interval seconds");
DEFINE_bool(list, false, "the processes that have a page; removes the pages of those that are gone");
DEFINE_double(interval, 1, "seconds between two looks of --watch and --csv, 0.05 to 86400");
DEFINE_uint64(count, 0, "looks of --watch and --csv; 0: until Ctrl-C or the end of the process");
DEFINE_string(file, "", "the file of the page, instead of a process");

namespace strongbin::stat_tool {

ParsedFlags ParseFlags(int argc, char** argv) {
  ParsedFlags parsed;
  Config& config = parsed.config;
  const CommandLine line = ParseCommandLine(argc, argv);
  parsed.help = line.help;
  if (parsed.help) return parsed;

  int views = 0;
  const auto choose = [&](bool wanted, View view) {
    if (!wanted) return;
    ++views;
    config.view = view;
  };
  choose(FLAGS_watch, View::kWatch);
  choose(FLAGS_json, View::kJson);
  choose(FLAGS_prometheus, View::kPrometheus);
  choose(FLAGS_csv, View::kCsv);
  choose(FLAGS_list, View::kList);
  config.file = FLAGS_file;
  config.interval_seconds = FLAGS_interval;
  config.count = FLAGS_count;
  if (views > 1) parsed.error = "--watch, --json, --prometheus, --csv and --list exclude each other";
  if (!(FLAGS_interval >= 0.05 && FLAGS_interval <= 86'400)) parsed.error = "--interval: allowed: 0.05 to 86400";

  if (line.words.size() + (config.file.empty() ? 0 : 1) > 1) {
    parsed.error = "one process at a time; --list shows which there are";
  } else if (!line.words.empty()) {
    const std::string& word = line.words[0];
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), config.pid);
    if (error != std::errc() || end != word.data() + word.size() || config.pid == 0) {
      parsed.error = "'" + word + "' is no process number; --list shows which there are";
    }
  }
  return parsed;
}

std::string UsageText() {
  return "strongbin-stat [PID] [flags]\n"
         "  Shows the statistics of a process that uses strongbin and has a statistics page: one started with\n"
         "  STRONGBIN_STATS_PAGE=1, with stats_page=true among the options of its RocksDB memtable, or that has "
         "called\n"
         "  strongbin::OpenStatsPage(). Without PID: the only one there is. Without flags: a table.\n"
         "  Exit status: 0, 1 when there is nothing to show, 2 for a bad command line.\n\nFlags:\n" +
         FlagList("strongbin_stat/flags.cc");
}

}  // namespace strongbin::stat_tool
