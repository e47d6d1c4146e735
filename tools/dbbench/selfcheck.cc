#include "strongbin/tools/dbbench/selfcheck.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "strongbin/tools/dbbench/environment.h"
#include "strongbin/tools/dbbench/monitor.h"

namespace strongbin::dbbench {

namespace {

struct Group {
  std::string_view name;
  std::span<const Check> (*checks)();
};
constexpr std::array kGroups = {Group{"component", &ComponentChecks}, Group{"order", &OrderChecks},
                                Group{"writers", &WritersChecks},     Group{"rotation", &RotationChecks},
                                Group{"pressure", &PressureChecks},   Group{"engine", &EngineChecks},
                                Group{"harness", &HarnessChecks},     Group{"pairs", &PairChecks}};

}  // namespace

std::string CheckGroupNames() {
  std::string names;
  for (const Group& group : kGroups) names.append(names.empty() ? "" : ", ").append(group.name);
  return names;
}

bool IsCheckGroup(std::string_view name) { return std::ranges::find(kGroups, name, &Group::name) != kGroups.end(); }

int RunSelfcheck(const Config& config, const std::string& directory, const std::vector<std::string>& groups) {
  for (const std::string& warning : BuildWarnings()) std::printf("%s\n", warning.c_str());
  std::printf("| check | bound | measured | result |\n| --- | --- | --- | --- |\n");
  bool all_hold = true;
  for (const Group& group : kGroups) {
    if (!groups.empty() && std::find(groups.begin(), groups.end(), group.name) == groups.end()) continue;
    for (const Check check : group.checks()) {
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
