#include "strongbin/tools/dbbench/content.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace strongbin::dbbench {

uint64_t HashEntry(std::string_view key, std::string_view value) {
  const uint64_t hash = XXH3_64bits_withSeed(value.data(), value.size(), XXH3_64bits(key.data(), key.size()));
  return hash == 0 ? 1 : hash;
}

Ledger::Ledger(const DataSet& data, bool keys_repeat) : data_(data), hashes_(keys_repeat ? data.key_count() : 0) {}

void Ledger::AddVersion(std::string_view key, std::string_view value) {
  const uint64_t index = data_.IndexOf(key);
  if (index < hashes_.size()) {
    hashes_[index] = HashEntry(key, value);
  } else {
    sum_.Add(key, value);  // a key that nobody wrote: the total will differ
  }
}

ContentSum Ledger::Total() const {
  ContentSum total = sum_;
  for (const uint64_t hash : hashes_) {
    total.entries += hash != 0 ? 1 : 0;
    total.hash_sum += hash;
  }
  return total;
}

}  // namespace strongbin::dbbench
