// dbbench: runs named tests against named engines and reports.
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "strongbin/tools/dbbench/cursor.h"
#include "strongbin/tools/dbbench/flags.h"
#include "strongbin/tools/dbbench/gate/gate.h"
#include "strongbin/tools/dbbench/monitor.h"
#include "strongbin/tools/dbbench/page/page.h"
#include "strongbin/tools/dbbench/profile.h"
#include "strongbin/tools/dbbench/profile_digest.h"
#include "strongbin/tools/dbbench/report.h"
#include "strongbin/tools/dbbench/selfcheck.h"
#include "strongbin/tools/dbbench/session.h"
#include "strongbin/tools/dbbench/suite.h"

namespace strongbin::dbbench {
namespace {

constexpr std::array<std::string_view, 7> kCommands = {"", "selfcheck", "gate", "report", "suite", "profile", "cursor"};

// Good: all was measured and agrees. Failed: an engine failed, content differs or the report could not be written.
// Interrupted: ended by Ctrl-C, after the report.
enum ExitStatus : int { kGood = 0, kFailed = 1, kBadUsage = 2, kInterrupted = kInterruptedStatus };

int Complain(const std::string& reason, int status) {
  std::fprintf(stderr, "dbbench: %s\n", reason.c_str());
  return status;
}

// Reports to --out or standard output.
class ReportPlace {
 public:
  // The file is opened first, so that a long run does not end without a place for its report.
  bool Open(const std::string& path) {
    to_file_ = !path.empty();
    if (to_file_) file_.open(path);
    return !to_file_ || file_.good();
  }
  bool Write(const std::string& text) {
    if (!to_file_) return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    return static_cast<bool>(file_.write(text.data(), static_cast<std::streamsize>(text.size())).flush());
  }

 private:
  bool to_file_ = false;
  std::ofstream file_;
};

// Runs the tests, or the cursor's workloads.
int RunAndReport(const Config& config, bool cursor, const std::string& directory, ReportPlace* place) {
  const Report report = cursor ? RunCursor(config) : RunSession(config, directory);
  if (!place->Write(Render(report, config.format))) return Complain("the report could not be written", kFailed);
  if (const std::string error = SaveForDigest(config, ToJson(report)); !error.empty()) return Complain(error, kFailed);
  if (report.interrupted) return kInterrupted;
  return report.agreed ? kGood : kFailed;
}

int Run(const ParsedFlags& parsed, int argc, char** argv) {
  const Config& config = parsed.config;
  const std::string command = parsed.words.empty() ? "" : parsed.words[0];
  const std::vector<std::string> operands(parsed.words.begin() + (parsed.words.empty() ? 0 : 1), parsed.words.end());
  const bool knows_operands =
      command == "report" || command == "profile" || command == "suite" || command == "selfcheck";
  if (std::find(kCommands.begin(), kCommands.end(), command) == kCommands.end()) {
    return Complain("unknown command \"" + command +
                        "\"; allowed: selfcheck, gate, report, suite, profile, cursor, or none "
                        "to run tests (see --help)",
                    kBadUsage);
  }
  if (!operands.empty() && !knows_operands)
    return Complain("unexpected \"" + operands[0] + "\" (see --help)", kBadUsage);
  if (!parsed.error.empty()) return Complain(parsed.error, kBadUsage);

  InstallInterruptHandler();
  if (command == "report") {
    PageConfig page;
    const std::string error = ReadPageFlags(&page);
    return error.empty() ? WritePage(page, operands) : Complain(error, kBadUsage);
  }
  if (command == "profile") {
    return operands.size() == 1 ? PrintProfiles(operands[0]) : Complain("profile needs one folder", kBadUsage);
  }
  if (command == "suite") {
    SuiteConfig suite;
    const std::string error = ReadSuiteFlags(operands.size() == 1 ? operands[0] : "", &suite);
    return error.empty() ? RunSuite(suite) : Complain(error, kBadUsage);
  }
  if (command == "selfcheck") {
    for (const std::string& group : operands) {
      if (!IsCheckGroup(group)) return Complain("selfcheck " + group + ": allowed: " + CheckGroupNames(), kBadUsage);
    }
  }
  GateConfig gate;
  // A gate profiles nothing itself; the processes that it starts do.
  const std::string error = command == "gate" ? ReadGateFlags(argc, argv, &gate) : EnterProfiledProcess(config, argv);
  if (!error.empty()) return Complain(error, kBadUsage);
  ReportPlace place;
  if (!place.Open(config.out_path)) return Complain("--out=" + config.out_path + ": cannot be written", kBadUsage);
  const WorkDirectory directory(config);
  if (!directory.error().empty()) return Complain(directory.error(), kBadUsage);
  if (command == "selfcheck") return RunSelfcheck(config, directory.path(), operands);
  if (command == "gate") return RunGate(gate, config, directory.path());
  return RunAndReport(config, command == "cursor", directory.path(), &place);
}

}  // namespace
}  // namespace strongbin::dbbench

int main(int argc, char** argv) {
  using namespace strongbin::dbbench;
  const ParsedFlags parsed = ParseFlags(argc, argv);
  if (parsed.help) {
    std::fputs(UsageText().c_str(), stdout);
    return kGood;
  }
  return Run(parsed, argc, argv);
}
