// Writes that go together, in the form in which the log keeps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strongbin/memtable/types.h"

namespace strongbin::kv {

// Puts and deletes that become visible and durable together.
//
// Owns its bytes, which are already those of a log record, so that logging copies nothing. One thread at a time.
// When wrong: keys and values must be shorter than kMaxBlobBytes; the store refuses the batch otherwise.
class Batch {
 public:
  void Put(std::string_view key, std::string_view value) { Add(EntryKind::kPut, key, value); }
  void Delete(std::string_view key) { Add(EntryKind::kDelete, key, {}); }
  void Clear();

  size_t count() const { return count_; }
  bool fits() const { return fits_; }
  std::string_view payload() const { return payload_; }

 private:
  void Add(EntryKind kind, std::string_view key, std::string_view value);

  std::string payload_;
  size_t count_ = 0;
  bool fits_ = true;
};

// Turns a payload back into writes that view it, numbered from `first` on. False when the bytes are no batch of `count`
// entries; `writes` is then of no use.
bool DecodeBatch(std::string_view payload, size_t count, Sequence first, std::vector<Write>* writes);

}  // namespace strongbin::kv
