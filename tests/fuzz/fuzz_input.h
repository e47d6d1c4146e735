// How fuzzers read their bytes, and how they say what is wrong.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

// Ends the process, which the fuzzer takes for a find and keeps the input of.
#define FUZZ_REQUIRE(condition, what)                                                                           \
  do {                                                                                                          \
    if (condition) break;                                                                                       \
    std::fprintf(stderr, "%s:%d: not so: %s: %s\n", __FILE__, __LINE__, #condition, std::string(what).c_str()); \
    std::abort();                                                                                               \
  } while (false)

// For a testing::AssertionResult.
#define FUZZ_REQUIRE_SAME(result)                     \
  do {                                                \
    const auto same_or_not = (result);                \
    FUZZ_REQUIRE(same_or_not, same_or_not.message()); \
  } while (false)

namespace strongbin {

// The bytes of one run, read from the front; zeros behind the end.
class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  bool AtEnd() const { return rest_.empty(); }
  uint8_t Byte() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  // In [0, bound), of one byte. Requires 0 < bound <= 256.
  size_t Below(size_t bound) { return Byte() % bound; }
  bool Coin() { return (Byte() & 1) != 0; }
  std::string_view Bytes(size_t count) {
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  std::string_view Rest() { return Bytes(rest_.size()); }

 private:
  std::string_view rest_;
};

}  // namespace strongbin
