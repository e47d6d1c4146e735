// The sections of a report page.
#pragma once

#include "strongbin/tools/dbbench/page/document.h"
#include "strongbin/tools/dbbench/page/result_set.h"

namespace strongbin::dbbench {

// A section appears where the results have something for it: a gate's comparisons, throughput, latency, memory over
// time, cold against warm rounds, threads, table sizes, the arena's cursor; environment and commands at the end.
Document MakeDocument(const ResultSet& results);

// In sections_gate.cc.
void AddGateSections(const ResultSet& results, Document* document);

// Names of figures are made of letters, digits and dashes.
std::string FigureName(std::string_view text);

}  // namespace strongbin::dbbench
