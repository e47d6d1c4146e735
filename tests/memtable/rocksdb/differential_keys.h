// Keys of the differential test.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "strongbin/tests/memtable/rocksdb/differential_config.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin::differential {

class KeyMaker {
 public:
  explicit KeyMaker(const RoundConfig& config)
      : alphabet_(config.with_bytes != 0 ? std::string_view("\0a\xE0", 3) : std::string_view("abc")) {
    if (config.key_shape == static_cast<uint64_t>(KeyShape::kLong8Bytes)) shared_bytes_ = 8;
    if (config.key_shape == static_cast<uint64_t>(KeyShape::kLong64Bytes)) shared_bytes_ = 64;
  }

  // `region` is empty or one of the first bytes that say what may be done with a key.
  std::string Make(std::string_view region, Random* random) const {
    std::string key(region);
    if (shared_bytes_ == 0) {
      // Short ones come again more often.
      size_t bytes = Below(random, 9 - key.size());
      bytes = std::min(bytes, size_t{Below(random, 9)});
      if (bytes == 0 && !OneIn(random, 4)) bytes = 1;
      AppendLetters(bytes, random, &key);
      return key;
    }
    key += alphabet_[Below(random, alphabet_.size())];
    key.resize(shared_bytes_, 'p');
    if (OneIn(random, 8)) key.append(1 + Below(random, 300 - 4 - key.size()), 'm');
    AppendLetters(1 + Below(random, 4), random, &key);
    return key;
  }

  // The key with this number among all that have the same many letters; the order of keys is that of the numbers, which
  // start again behind the last key.
  std::string Numbered(uint64_t number) const {
    std::string key(shared_bytes_, 'p');
    const size_t letter_count = shared_bytes_ == 0 ? 8 : 12;
    key.resize(shared_bytes_ + letter_count);
    if (shared_bytes_ != 0) key[0] = alphabet_[1];
    for (size_t i = key.size(); i > shared_bytes_; --i, number /= alphabet_.size()) {
      key[i - 1] = alphabet_[number % alphabet_.size()];
    }
    return key;
  }

  // A place to seek to: a key, or just beside one.
  std::string MakeBeside(std::string_view region, Random* random) const {
    std::string key = Make(region, random);
    if (OneIn(random, 5)) key += '\0';
    if (OneIn(random, 5) && key.size() > region.size() + 1) key.pop_back();
    return key;
  }

  // Two places, the first not behind the second.
  std::pair<std::string, std::string> MakeRange(std::string_view region, Random* random) const {
    std::string first = MakeBeside(region, random);
    std::string last = MakeBeside(region, random);
    if (last < first) std::swap(first, last);
    return {std::move(first), std::move(last)};
  }

 private:
  void AppendLetters(size_t count, Random* random, std::string* key) const {
    for (; count > 0; --count) *key += alphabet_[Below(random, alphabet_.size())];
  }

  std::string_view alphabet_;
  size_t shared_bytes_ = 0;
};

}  // namespace strongbin::differential
