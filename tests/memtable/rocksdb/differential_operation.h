// What is done to both databases: operations, and the text form that a run prints and --replay takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strongbin/tests/memtable/rocksdb/differential_config.h"

namespace strongbin::differential {

enum class OpKind : uint8_t {
  // Writes, alone or as parts of a batch.
  kPut,
  kDelete,
  kSingleDelete,
  kMerge,
  kDeleteRange,
  kFill,  // many puts in one batch
  kBatch,
  // Reads.
  kGet,
  kMultiGet,
  kKey,  // a part of kMultiGet
  kGetMergeOperands,
  kCounts,  // properties and estimates of the memtables
  kSnapshot,
  kReleaseSnapshot,
  // Iterators; their parts are moves.
  kIterate,  // a new one, moved and closed
  kOpenIterator,
  kMoveIterator,
  kCloseIterator,
  // Moves.
  kSeekToFirst,
  kSeekToLast,
  kSeek,
  kSeekForPrev,
  kNext,
  kPrev,
  kRefresh,
  // The databases as a whole.
  kFlush,
  kCompact,
  kCompareAll,
  kReadOnly,
  kSecondary,
  kReopen,
  kKill,
  kThreads,  // its parts are done by several threads
};
inline constexpr size_t kOpKindCount = static_cast<size_t>(OpKind::kThreads) + 1;
std::string_view OpKindName(OpKind kind);

enum class IteratorMode : uint64_t { kTotalOrder, kTailing, kSamePrefix };

// Fields mean something for some kinds alone. Operations that name an empty slot do nothing or read the newest state,
// so that any part of a list is a list.
struct Operation {
  OpKind kind = OpKind::kPut;
  uint64_t family = 0;      // column family
  uint64_t slot = 0;        // of the snapshot or the iterator
  uint64_t at = 0;          // what is read: 0 the newest state, n the snapshot in slot n - 1
  uint64_t thread = 0;      // parts of kThreads
  uint64_t value_seed = 0;  // with value_bytes: the value or the operand
  uint64_t value_bytes = 0;
  uint64_t count = 0;                   // kFill
  uint64_t mode = 0;                    // IteratorMode
  uint64_t option = 0;                  // a variant of the kind: see Side
  uint64_t delay_us = 0;                // kKill: from the operation to the end of the process
  std::optional<std::string> key = {};  // also the start of a range and the lower bound of an iterator
  std::optional<std::string> end = {};  // also the upper bound of an iterator
  std::vector<Operation> parts = {};

  bool operator==(const Operation&) const = default;
};

// Whether it changes what the database holds.
bool IsWrite(OpKind kind);

// The operation and its parts, and theirs.
size_t CountOperations(const std::vector<Operation>& operations);

struct Round {
  RoundConfig config;
  std::vector<Operation> operations = {};

  bool operator==(const Round&) const = default;
};

// One operation a line, parts below theirs and indented.
std::string Format(const Operation& operation, size_t depth = 0);
std::string Format(const Round& round);
// False, with a message that names the line, for text that Format cannot have made.
bool Parse(std::string_view text, Round* round, std::string* error);

}  // namespace strongbin::differential
