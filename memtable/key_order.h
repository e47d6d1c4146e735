// The order of entries: key bytes ascending, then sequence descending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "strongbin/memtable/entry.h"
#include "strongbin/memtable/sorted_run.h"
#include "strongbin/memtable/types.h"

namespace strongbin {

// A place between entries: before the newest version of `key` at or below `sequence`, or behind all versions.
struct SeekTarget {
  std::string_view key;
  Sequence sequence = kMaxSequence;
  bool behind_all_versions = false;
};

// How many bytes `a` and `b` have in common at their start, at most `limit`.
inline size_t CommonPrefixBytes(std::string_view a, std::string_view b, size_t limit) {
  size_t most = a.size() < b.size() ? a.size() : b.size();
  if (limit < most) most = limit;
  if (a.substr(0, most) == b.substr(0, most)) return most;  // mostly so, and many bytes at a time
  size_t common = 0;
  while (a[common] == b[common]) ++common;
  return common;
}

// Compares entries of one log, which are named by their handles.
//
// Borrows the log. Thread safety: const, any thread, for published entries.
template <class Face>
class KeyOrder {
 public:
  using Slot = typename Face::Slot;
  using Log = typename Face::Log;

  explicit KeyOrder(const Log& log) : log_(&log) {}

  const Log& log() const { return *log_; }
  const Slot& At(uint32_t handle) const { return *log_->At(handle); }

  int Compare(const Slot& a, const Slot& b) const {
    const int order = CompareKeys(Face::Key(a), Face::Key(b));
    if (order != 0) return order;
    const Sequence sequence_a = Face::SequenceOf(a), sequence_b = Face::SequenceOf(b);
    return sequence_a > sequence_b ? -1 : (sequence_a < sequence_b ? 1 : 0);
  }

  int Compare(const Slot& entry, const SeekTarget& target) const {
    const int order = CompareKeys(Face::Key(entry), target.key);
    if (order != 0) return order;
    if (target.behind_all_versions) return -1;
    const Sequence sequence = Face::SequenceOf(entry);
    return sequence > target.sequence ? -1 : (sequence < target.sequence ? 1 : 0);
  }

  // The record of an entry whose key begins with the `skip_bytes` that its run leaves out.
  RunRecord MakeRecord(uint32_t handle, size_t skip_bytes) const { return MakeRecord(At(handle), handle, skip_bytes); }
  static RunRecord MakeRecord(const Slot& slot, uint32_t handle, size_t skip_bytes) {
    if (skip_bytes == 0) {
      const std::string_view key = Face::Key(slot);
      return {.rest = RestOf(key, sizeof(uint64_t)) | handle, .prefix = Face::Prefix(slot)};
    }
    return MakeRecord(Face::Key(slot), handle, skip_bytes);
  }
  static RunRecord MakeRecord(std::string_view key, uint32_t handle, size_t skip_bytes) {
    const std::string_view behind = key.substr(skip_bytes < key.size() ? skip_bytes : key.size());
    return {.rest = RestOf(behind, sizeof(uint64_t)) | handle, .prefix = KeyPrefix(behind)};
  }

  // The index of the first of the ordered records [low, high) at or behind `target`, or `high`.
  // `record_at(index, wanted)` gives the record at an index; where its first eight bytes differ from `wanted` it may
  // leave out the rest.
  template <class RecordAt>
  uint64_t LowerBound(uint64_t low, uint64_t high, size_t skip_bytes, const SeekTarget& target,
                      RecordAt&& record_at) const {
    const RunRecord wanted = MakeRecord(target.key, 0, skip_bytes);
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      const RunRecord record = record_at(middle, wanted);
      bool is_before;
      if (record.key_bits() != wanted.key_bits()) [[likely]] {
        is_before = record.key_bits() < wanted.key_bits();
      } else {
        is_before = Compare(At(record.handle()), target) < 0;
      }
      if (is_before) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  // The same over the entries [0, size) of the log themselves.
  uint64_t LowerBoundInLog(uint64_t size, const SeekTarget& target) const {
    return LowerBound(0, size, 0, target, [this](uint64_t index, const RunRecord& wanted) {
      // The rest of a key lies elsewhere in memory: do not go there unless it decides.
      const uint32_t handle = log_->HandleAt(index);
      const uint64_t prefix = Face::Prefix(At(handle));
      return prefix != wanted.prefix ? RunRecord{.rest = handle, .prefix = prefix} : MakeRecord(handle, 0);
    });
  }

 private:
  // Four bytes from `offset` on, zero-padded, in the upper half of a word.
  static uint64_t RestOf(std::string_view key, size_t offset) {
    uint32_t word = 0;
    if (key.size() >= offset + sizeof(word)) [[likely]] {
      std::memcpy(&word, key.data() + offset, sizeof(word));
    } else if (key.size() > offset) {
      std::memcpy(&word, key.data() + offset, key.size() - offset);
    }
    return uint64_t{__builtin_bswap32(word)} << 32;
  }

  const Log* log_;
};

}  // namespace strongbin
