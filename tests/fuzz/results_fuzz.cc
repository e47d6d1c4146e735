// The readers of dbbench's results on hostile bytes: a refusal, or results that are the same once written and read
// again. And what dbbench writes of any names and numbers, they read.
#include <algorithm>
#include <bit>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "strongbin/tests/fuzz/folder_in_memory.h"
#include "strongbin/tests/fuzz/fuzz_input.h"
#include "strongbin/tools/dbbench/gate/journal.h"
#include "strongbin/tools/dbbench/page/result_set.h"
#include "strongbin/tools/dbbench/report.h"

namespace strongbin::dbbench {
namespace {

using nlohmann::json;

// A gate of one pair: the pieces of a run are laid over it.
constexpr std::string_view kGate =
    R"({"tool":"dbbench gate","baseline":"memtable","candidate":"kv","flags":["--keys=10"]}
{"counted":true,"disturbed":"","order":"AB",)"
    R"("baseline":{"metrics":{"t":{"ops":1.5,"rss":10}},"report":{"rows":[{"test":"t","round":"1 cold",)"
    R"("timing":"single","operations":5,"distinct_keys":5,"bytes":9,"checksum":"ab"}]}},)"
    R"("candidate":{"metrics":{"t":{"ops":2.5,"rss":11}},"report":{"environment":{"commit":"c"},"rows":[)"
    R"({"test":"t","round":"1 cold","timing":"single","operations":5,"distinct_keys":5,"bytes":9,"checksum":"ab"}]}}}
)";

std::string PathOf(const char* name) {
  static const FolderInMemory folder;
  return folder.path() + "/" + name;
}

// The answer of a call that may refuse by an exception of the parser's; any other ends the process.
template <class Call>
bool Accepts(const Call& call) {
  try {
    return call();
  } catch (const json::exception&) {
    return false;
  }
}

bool Read(const std::string& text, ResultSet* results) {
  const std::string path = PathOf("results");
  FolderInMemory::Write(path, text);
  return Accepts([&] {
    std::string error;
    const bool read = ReadResults({path}, results, &error);
    FUZZ_REQUIRE(read || error.starts_with(path), "a refusal that does not name the file");
    return read;
  });
}

void RequireSame(const ResultSet& one, const ResultSet& other) {
  FUZZ_REQUIRE(one.rows.size() == other.rows.size(), "rows");
  for (size_t i = 0; i < one.rows.size(); ++i) {
    const ResultRow &a = one.rows[i], &b = other.rows[i];
    FUZZ_REQUIRE(a.series == b.series && a.test == b.test && a.round == b.round, "names of a row");
    FUZZ_REQUIRE(a.keys == b.keys && a.threads == b.threads && a.row == b.row, "numbers of a row");
  }
  FUZZ_REQUIRE(one.runs.size() == other.runs.size() && one.gates.size() == other.gates.size(), "files");
  for (size_t i = 0; i < one.runs.size(); ++i) {
    const RunFacts &a = one.runs[i], &b = other.runs[i];
    FUZZ_REQUIRE(a.environment == b.environment && a.settings == b.settings && a.engines == b.engines, "facts");
  }
  for (size_t i = 0; i < one.gates.size(); ++i) {
    const GateResult &a = one.gates[i], &b = other.gates[i];
    FUZZ_REQUIRE(a.header == b.header && a.environment == b.environment, "facts of a gate");
    FUZZ_REQUIRE(a.pairs == b.pairs && a.disturbed_pairs == b.disturbed_pairs, "pairs");
    FUZZ_REQUIRE(a.comparisons.size() == b.comparisons.size(), "comparisons");
    for (size_t k = 0; k < a.comparisons.size(); ++k) {
      const Comparison &x = a.comparisons[k], &y = b.comparisons[k];
      FUZZ_REQUIRE(x.test == y.test && x.metric == y.metric && x.ratios == y.ratios, "a comparison");
      FUZZ_REQUIRE(x.baseline == y.baseline && x.candidate == y.candidate && x.ratio == y.ratio, "medians");
      FUZZ_REQUIRE(x.p >= 0 && x.p <= 1 && x.p == y.p, "no probability");
    }
  }
}

// The lines that are JSON, up to the first that is not.
std::vector<json> LinesOf(const std::string& text) {
  std::vector<json> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    json line = json::parse(text.substr(at, end - at), nullptr, /*allow_exceptions=*/false);
    if (line.is_discarded()) break;
    lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

// As a gate writes them.
std::string WrittenByJournal(const std::vector<json>& lines) {
  const std::string path = PathOf("journal");
  std::filesystem::remove(path);
  Journal journal(path);
  FUZZ_REQUIRE(journal.Open(lines.at(0)), journal.error());
  for (size_t i = 1; i < lines.size(); ++i) FUZZ_REQUIRE(journal.Add(lines[i]), journal.error());
  Journal again(path);
  FUZZ_REQUIRE(again.Open(lines.at(0)), again.error());
  FUZZ_REQUIRE(again.pairs() == std::vector<json>(lines.begin() + 1, lines.end()), "pairs of a journal");
  return FolderInMemory::Read(path);
}

void TryText(const std::string& text) {
  ResultSet results;
  if (Read(text, &results)) {
    ResultSet again;
    const std::string written = results.gates.empty() ? json::parse(text).dump() : WrittenByJournal(LinesOf(text));
    FUZZ_REQUIRE(Read(written, &again), "what was read is refused when it is written again: " + written);
    RequireSame(results, again);
  }
  // A gate that goes on from this file.
  const std::vector<json> lines = LinesOf(text);
  const std::string path = PathOf("continued");
  FolderInMemory::Write(path, text);
  Journal journal(path);
  if (!Accepts([&] { return journal.Open(lines.empty() ? json() : lines[0]); })) return;
  const size_t pairs = journal.pairs().size();
  FUZZ_REQUIRE(pairs <= lines.size(), "more pairs than lines");
  FUZZ_REQUIRE(journal.Add({{"pair", 1}}), journal.error());
  Journal again(path);
  FUZZ_REQUIRE(again.Open(lines.empty() ? json() : lines[0]), again.error());
  FUZZ_REQUIRE(again.pairs() == journal.pairs() && again.pairs().size() == pairs + 1, "a pair was lost");
}

std::string LaidOverAGate(FuzzInput* input) {
  std::string text(kGate);
  if (input->Below(4) == 0) text.resize(text.size() * input->Byte() / 256);
  while (!input->AtEnd()) {
    const size_t place = (size_t{input->Byte()} * 256 + input->Byte()) % (text.size() + 1);
    const size_t replaced = input->Below(16);
    text.replace(place, replaced, input->Bytes(input->Below(32)));
  }
  return text;
}

double SomeNumber(FuzzInput* input) {
  uint64_t bits = 0;
  for (const char byte : input->Bytes(sizeof(bits))) bits = bits << 8 | static_cast<uint8_t>(byte);
  return std::bit_cast<double>(bits);
}

void WriteAndRead(FuzzInput* input) {
  Report report;
  report.parameters = {{"keys", std::string(input->Bytes(input->Below(24)))}, {"threads", "2"}};
  report.environment = {{"processor", std::string(input->Bytes(input->Below(24)))}};
  size_t finished = 0;
  while (!input->AtEnd()) {
    Row& row = report.rows.emplace_back();
    row.engine = input->Bytes(input->Below(24));
    row.test = input->Bytes(input->Below(24));
    row.note = input->Bytes(input->Below(24));
    row.finished = input->Coin();
    row.measured = input->Coin();
    row.operations = input->Byte();
    row.ops_per_second = SomeNumber(input);
    row.drain_seconds = SomeNumber(input);
    if (input->Coin()) row.pool.emplace().gets = UINT64_MAX;
    if (input->Coin()) row.service_curve.push_back({SomeNumber(input), input->Byte()});
    if (input->Coin()) row.timeline.push_back({SomeNumber(input), input->Byte(), 1, 2, UINT64_MAX});
    finished += row.finished && row.measured ? 1 : 0;
  }
  const std::string text = ToJson(report);
  ResultSet results;
  FUZZ_REQUIRE(Read(text, &results), "dbbench cannot read what it wrote: " + text);
  FUZZ_REQUIRE(results.rows.size() == finished, "finished rows");
}

void Run(FuzzInput input) {
  const uint8_t style = input.Byte();
  if (style < 0x50) return TryText(std::string(input.Rest()));
  if (style < 0xB0) return TryText(LaidOverAGate(&input));
  WriteAndRead(&input);
}

}  // namespace
}  // namespace strongbin::dbbench

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  strongbin::dbbench::Run({data, size});
  return 0;
}
