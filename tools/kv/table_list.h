// What a reader looks through.
#pragma once

#include <memory>
#include <vector>

#include "strongbin/memtable/append_only_memtable.h"

namespace strongbin::kv {

// The memtables of a store at one moment, newest first. Whoever holds the list keeps its tables from being reused.
using TableList = std::vector<std::shared_ptr<AppendOnlyMemtable>>;

}  // namespace strongbin::kv
