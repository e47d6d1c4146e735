// The options of the factory in RocksDB's string form.
#pragma once

#include <string>
#include <unordered_map>

#include <rocksdb/utilities/options_type.h>

namespace strongbin {

// How each option of RepOptions is read, written and compared. Lives as long as the process, as RocksDB asks.
const std::unordered_map<std::string, ROCKSDB_NAMESPACE::OptionTypeInfo>& RepOptionTypes();

}  // namespace strongbin
