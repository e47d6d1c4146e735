// dbbench: runs named tests against named engines and reports.
#include <cstdio>
#include <fstream>
#include <string>

#include "strongbin/tools/dbbench/flags.h"
#include "strongbin/tools/dbbench/gate/gate.h"
#include "strongbin/tools/dbbench/monitor.h"
#include "strongbin/tools/dbbench/profile.h"
#include "strongbin/tools/dbbench/report.h"
#include "strongbin/tools/dbbench/selfcheck.h"
#include "strongbin/tools/dbbench/session.h"

namespace {

// 0: all was measured and agrees. 1: an engine failed, content differs or the report could not be written. 2: bad
// command line. 130: ended by Ctrl-C, after the report.
enum ExitStatus : int { kGood = 0, kFailed = 1, kBadUsage = 2, kInterrupted = 130 };

int Complain(const std::string& reason, int status) {
  std::fprintf(stderr, "dbbench: %s\n", reason.c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace strongbin::dbbench;
  const ParsedFlags parsed = ParseFlags(argc, argv);
  const Config& config = parsed.config;
  if (parsed.help) {
    std::fputs(UsageText().c_str(), stdout);
    return kGood;
  }
  const std::string command = parsed.words.empty() ? "" : parsed.words[0];
  if (!(command.empty() || command == "selfcheck" || command == "gate") || parsed.words.size() > 1) {
    return Complain(
        "unknown command \"" + parsed.words.back() + "\"; allowed: selfcheck, gate, or none to run tests (see --help)",
        kBadUsage);
  }
  if (!parsed.error.empty()) return Complain(parsed.error, kBadUsage);
  GateConfig gate;
  if (command == "gate") {
    if (const std::string error = ReadGateFlags(argc, argv, &gate); !error.empty()) return Complain(error, kBadUsage);
  }
  // A gate profiles nothing itself; the processes that it starts do.
  const std::string unprofiled = command == "gate" ? "" : EnterProfiledProcess(config, argv);
  if (!unprofiled.empty()) return Complain(unprofiled, kBadUsage);

  InstallInterruptHandler();
  // The file is opened first, so that a long run does not end without a place for its report.
  std::ofstream out;
  if (!config.out_path.empty()) {
    out.open(config.out_path);
    if (!out) return Complain("--out=" + config.out_path + ": cannot be written", kBadUsage);
  }
  const WorkDirectory directory(config);
  if (!directory.error().empty()) return Complain(directory.error(), kBadUsage);
  if (command == "selfcheck") return RunSelfcheck(config, directory.path());
  if (command == "gate") return RunGate(gate, config, directory.path());

  const Report report = RunSession(config, directory.path());
  const std::string text = Render(report, config.format);
  bool written = false;
  if (config.out_path.empty()) {
    written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  } else {
    written = static_cast<bool>(out.write(text.data(), static_cast<std::streamsize>(text.size())).flush());
  }
  if (!written) return Complain("the report could not be written", kFailed);
  if (report.interrupted) return kInterrupted;
  return report.agreed ? kGood : kFailed;
}
