// Reads a log file back, and tells a torn end from damage.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/status.h>

#include "strongbin/memtable/types.h"

namespace strongbin::kv {

struct LogRecord {
  Sequence first = 0;
  size_t count = 0;
  std::string_view payload;
};

struct LogContents {
  std::string bytes;               // the whole file
  std::vector<LogRecord> records;  // views of `bytes`
  uint64_t torn_bytes = 0;         // at the end, without a whole record
};

// Reads the log of this number.
//
// A crash can only tear the end: each batch was synced before the next was written. So bytes that are no record, with
// no whole record anywhere behind them, are a torn end, which is left out (the last batch, whose write never returned).
// With a whole record behind them they are damage to something that was once promised: Corruption, which names the file
// and the place, and nothing is returned. Damage to the very last record cannot be told from a torn end.
rocksdb::Status ReadLog(const std::string& directory, uint64_t number, LogContents* contents);

}  // namespace strongbin::kv
