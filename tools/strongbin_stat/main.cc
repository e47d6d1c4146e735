// strongbin-stat: shows the statistics page of a process.
#include <chrono>
#include <cstdio>
#include <string>

#include "strongbin/stats/page_reader.h"
#include "strongbin/tools/strongbin_stat/attach.h"
#include "strongbin/tools/strongbin_stat/flags.h"
#include "strongbin/tools/strongbin_stat/formats.h"
#include "strongbin/tools/strongbin_stat/terminal.h"
#include "strongbin/tools/strongbin_stat/watch_view.h"

namespace strongbin::stat_tool {
namespace {

enum ExitStatus : int { kGood = 0, kFailed = 1, kBadUsage = 2 };

int Complain(const std::string& reason, int status) {
  std::fprintf(stderr, "strongbin-stat: %s\n", reason.c_str());
  return status;
}

template <class Clock>
uint64_t NowNs() {
  const auto now = Clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// True where all of it was written.
bool Print(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

// Looks every interval until one of: enough looks, a signal, the end of the process, show() answers false. Calls
// show(snapshot) with each look and resize() where only the screen has changed.
template <class Show, class Resize>
int EveryInterval(const Config& config, const std::string& path, Show&& show, Resize&& resize) {
  const Signals signals;
  PageSnapshot snapshot;
  std::string why;
  const uint64_t interval_ns = static_cast<uint64_t>(config.interval_seconds * 1e9);
  uint64_t due_ns = NowNs<std::chrono::steady_clock>();
  for (uint64_t looks = 0;;) {
    if (!ReadStatsPage(path, &snapshot, &why)) return looks > 0 ? kGood : Complain(why, kFailed);
    if (!show(snapshot)) return kFailed;
    if (++looks == config.count || HasEnded(path)) return kGood;
    due_ns += interval_ns;
    for (;;) {
      const uint64_t now_ns = NowNs<std::chrono::steady_clock>();
      // Who was stopped for a while does not make up for it.
      if (now_ns > due_ns + interval_ns) due_ns = now_ns;
      if (now_ns >= due_ns) break;
      const Signals::Woken woken = signals.Wait(static_cast<double>(due_ns - now_ns) / 1e9);
      if (woken == Signals::Woken::kToEnd) return kGood;
      if (woken == Signals::Woken::kByResize) resize();
    }
  }
}

int Watch(const Config& config, const std::string& path) {
  if (!FullScreen::IsThere()) {
    return Complain("--watch needs a terminal on standard output; use --csv or --json for a file or a pipe", kBadUsage);
  }
  PageSnapshot last;
  int status = kGood;
  {
    const FullScreen screen;
    WatchView view(config.interval_seconds);
    const auto draw = [&view] { FullScreen::Show(view.Draw(FullScreen::Now())); };
    status = EveryInterval(
        config, path,
        [&](const PageSnapshot& snapshot) {
          last = snapshot;
          view.Add(snapshot, NowNs<std::chrono::steady_clock>(), NowNs<std::chrono::system_clock>());
          draw();
          return true;
        },
        draw);
  }
  if (status == kGood && HasEnded(path))
    Print(last.program + ", process " + std::to_string(last.pid) + ", has ended\n");
  return status;
}

int Csv(const Config& config, const std::string& path) {
  if (!Print(CsvHead())) return kFailed;
  return EveryInterval(
      config, path,
      [](const PageSnapshot& snapshot) {
        return Print(CsvRow(snapshot, NowNs<std::chrono::system_clock>() / 1'000'000));
      },
      [] {});
}

int Run(const Config& config) {
  if (config.view == View::kList) {
    const std::string list = ListOfPages();
    if (list.empty()) std::fputs("strongbin-stat: no process of this user has a statistics page\n", stderr);
    return Print(list) ? kGood : kFailed;
  }
  std::string path = config.file, why;
  if (path.empty() && !FindPage(config.pid, &path, &why)) return Complain(why, kFailed);
  if (config.view == View::kWatch) return Watch(config, path);
  if (config.view == View::kCsv) return Csv(config, path);

  PageSnapshot snapshot;
  if (!ReadStatsPage(path, &snapshot, &why)) return Complain(why, kFailed);
  const std::string text = config.view == View::kJson         ? AsJson(snapshot)
                           : config.view == View::kPrometheus ? AsPrometheus(snapshot)
                                                              : AsText(snapshot);
  return Print(text) ? kGood : kFailed;
}

}  // namespace
}  // namespace strongbin::stat_tool

int main(int argc, char** argv) {
  using namespace strongbin::stat_tool;
  const ParsedFlags parsed = ParseFlags(argc, argv);
  if (parsed.help) {
    std::fputs(UsageText().c_str(), stdout);
    return kGood;
  }
  if (!parsed.error.empty()) return Complain(parsed.error, kBadUsage);
  return Run(parsed.config);
}
