// `dbbench cursor`: what an allocation costs behind many filled buffers.
#pragma once

#include "strongbin/tools/dbbench/report.h"

namespace strongbin::dbbench {

// The arena beside a walk that tries every buffer from the first on: allocations of 16 bytes behind 10, 100 and 1,000
// filled buffers, nothing copied, and a workload that grows from nothing. One row each; the notes say how many buffers
// were looked into.
Report RunCursor(const Config& config);

}  // namespace strongbin::dbbench
