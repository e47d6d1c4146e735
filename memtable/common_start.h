// What all keys of a table begin with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "strongbin/memtable/entry.h"
#include "strongbin/memtable/key_order.h"

namespace strongbin {

// A key of the table, and how many of its first bytes every key seen so far shares with it. Only ever narrows.
//
// Borrows the key's bytes. Thread safety: one thread at a time.
class CommonStart {
 public:
  bool known() const { return known_; }
  size_t bytes() const { return bytes_; }

  void Learn(std::string_view key) {
    key_ = key;
    known_ = true;
    SetBytes(key.size());
  }
  // Takes in one more key.
  void Narrow(std::string_view key) { SetBytes(CommonPrefixBytes(key_, key, bytes_)); }
  // Whether the key begins with the common bytes. Cost: some instructions while they are eight or fewer.
  bool Begins(std::string_view key) const {
    if (key.size() < bytes_) return false;
    if (bytes_ > sizeof(uint64_t)) return std::memcmp(key.data(), key_.data(), bytes_) == 0;
    return ((KeyPrefix(key) ^ prefix_) & mask_) == 0;
  }

 private:
  void SetBytes(size_t bytes) {
    bytes_ = bytes;
    prefix_ = KeyPrefix(key_);
    mask_ = bytes == 0 ? 0 : bytes >= sizeof(uint64_t) ? ~uint64_t{0} : ~(~uint64_t{0} >> (8 * bytes));
  }

  std::string_view key_;
  size_t bytes_ = 0;
  uint64_t prefix_ = 0;
  uint64_t mask_ = 0;
  bool known_ = false;
};

}  // namespace strongbin
