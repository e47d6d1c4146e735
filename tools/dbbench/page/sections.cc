#include "strongbin/tools/dbbench/page/sections.h"

#include <cctype>
#include <set>

#include "strongbin/tools/dbbench/page/builder.h"

namespace strongbin::dbbench {
namespace {

void AddFacts(const std::string& file, const nlohmann::json& facts, std::vector<std::string>* lines) {
  lines->push_back("# " + file);
  for (const auto& [name, value] : facts.items()) {
    if (value.is_string()) lines->push_back(name + ": " + value.get<std::string>());
  }
}

void AddEnvironment(const ResultSet& results, Document* document) {
  Section environment;
  environment.title = "Environment";
  std::set<std::string> seen;
  for (const RunFacts& run : results.runs) {
    if (seen.insert(run.environment.value("commit", "") + run.environment.value("processor", "")).second) {
      AddFacts(run.file, run.environment, &environment.lines);
    }
  }
  for (const GateResult& gate : results.gates) AddFacts(gate.file, gate.environment, &environment.lines);
  Section engines;
  engines.title = "Engines";
  std::set<std::string> described;
  for (const RunFacts& run : results.runs) {
    for (const auto& [name, value] : run.engines.items()) {
      std::string line = name + ": " + (value.is_string() ? value.get<std::string>() : "");
      if (described.insert(line).second) engines.lines.push_back(std::move(line));
    }
  }
  Section commands;
  commands.title = "Commands";
  for (const RunFacts& run : results.runs) commands.lines.push_back(run.settings.value("command", ""));
  for (const GateResult& gate : results.gates) {
    std::string command = "dbbench gate --baseline='" + gate.header.value("baseline", "") + "' --candidate='" +
                          gate.header.value("candidate", "") + "'";
    for (const auto& flag : gate.header.value("flags", nlohmann::json::array()))
      command += " " + flag.get<std::string>();
    commands.lines.push_back(command);
  }
  for (Section* section : {&engines, &environment, &commands}) {
    if (!section->lines.empty()) document->sections.push_back(std::move(*section));
  }
}

}  // namespace

std::string FigureName(std::string_view text) {
  std::string name;
  for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return name;
}

Document MakeDocument(const ResultSet& results) {
  Document document;
  document.title = "dbbench";
  AddGateSections(results, &document);
  const Builder builder(results);
  for (Section section :
       {builder.Throughput(), builder.Latency(), builder.RateOverTime(), builder.MemoryOverTime(),
        builder.ColdAndWarm(), builder.Scaling("Threads", "threads", &ResultRow::threads, &ResultRow::keys),
        builder.Scaling("Table size", "keys", &ResultRow::keys, &ResultRow::threads), builder.Cursor()}) {
    if (!section.figures.empty()) document.sections.push_back(std::move(section));
  }
  AddEnvironment(results, &document);
  return document;
}

}  // namespace strongbin::dbbench
