#include "strongbin/tools/dbbench/selfcheck.h"

#include <cstdio>

#include "strongbin/tools/dbbench/environment.h"
#include "strongbin/tools/dbbench/monitor.h"

namespace strongbin::dbbench {

int RunSelfcheck(const Config& config, const std::string& directory) {
  for (const std::string& warning : BuildWarnings()) std::printf("%s\n", warning.c_str());
  std::printf("| check | bound | measured | result |\n| --- | --- | --- | --- |\n");
  bool all_hold = true;
  for (const std::span<const Check> checks : {ComponentChecks(), PressureChecks(), EngineChecks(), HarnessChecks()}) {
    for (const Check check : checks) {
      if (Interrupted()) break;
      for (const CheckRow& row : check({config, directory})) {
        const char* result = row.bound.empty() ? "told" : (row.pass ? "holds" : "FAILS");
        std::printf("| %s | %s | %s | %s |\n", row.name.c_str(), row.bound.c_str(), row.measured.c_str(), result);
        std::fflush(stdout);
        all_hold &= row.pass;
      }
    }
  }
  if (Interrupted()) std::printf("\nEnded by Ctrl-C; the checks above are all that ran.\n");
  return all_hold && !Interrupted() ? 0 : 1;
}

}  // namespace strongbin::dbbench
