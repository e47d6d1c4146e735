// The words of the memtable's interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "strongbin/memtable/status.h"

namespace strongbin {

// Sequence numbers belong to the caller: larger is newer. A snapshot is a sequence number; it sees what is at or below
// it.
using Sequence = uint64_t;
inline constexpr Sequence kMaxSequence = (uint64_t{1} << 56) - 1;

// Keys and values are shorter than this.
inline constexpr uint64_t kMaxBlobBytes = (uint64_t{1} << 32) - 16;

// What an entry means. The table stores and returns it and looks at none of it: an engine may use other values up to
// 127.
enum class EntryKind : uint8_t {
  kDelete = 0,
  kPut = 1,
  kMerge = 2,
  kValuePointer = 3,  // the value is a 16-byte locator into somebody's log
};

// An opaque locator into a value log.
struct ValuePointer {
  uint64_t words[2];
};

enum class ValueMode : uint8_t {
  kCopy,    // the value's bytes are copied into the table
  kBorrow,  // the table keeps the pointer; the bytes must stay until the table is reset or ended
};

// One entry to append. Views need to live only for the call (borrowed values excepted).
struct Write {
  std::string_view key;
  std::string_view key_suffix = {};  // the key is `key` followed by `key_suffix`
  Sequence sequence = 0;
  std::string_view value = {};
  EntryKind kind = EntryKind::kPut;
  ValueMode value_mode = ValueMode::kCopy;
};

// What a point lookup found. The view lives until the table is reset or ended; a ReadPin keeps it from being.
struct LookupResult {
  Status status = Status::Code::kNotFound;  // kOk for any version found, tombstones included
  EntryKind kind = EntryKind::kDelete;
  Sequence sequence = 0;
  std::string_view value = {};

  bool found() const { return status.ok(); }
};

// How much a table is expected to hold. Zero means nothing is known.
struct Capacity {
  uint64_t entries = 0;
  uint64_t key_bytes = 0;    // of keys longer than 8 bytes
  uint64_t value_bytes = 0;  // of copied values
};

struct ReadOptions {
  Sequence snapshot = kMaxSequence;
  // Keys below lower_bound, and keys at or above upper_bound, are not shown. An empty view with a null pointer is no
  // bound. The bytes must outlive the iterator.
  std::string_view lower_bound = {};
  std::string_view upper_bound = {};
  // false: the newest version at or below the snapshot of each key, tombstones included.
  // true: every version at or below the snapshot, newest first within a key, as a flush wants it.
  bool all_versions = false;
};

// Whether pins and iterators make a reset answer kBusy at once, or are waited for: until a moment comes without any.
// Whoever waits must hold none himself.
enum class WhenBusy : uint8_t { kReturn, kWait };

}  // namespace strongbin
