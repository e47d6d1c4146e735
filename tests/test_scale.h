// How long random tests run.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace strongbin {

// `usual`, or `wide` where STRONGBIN_TEST_SCALE=wide is in the environment, as in `.ci/run --wide`.
inline size_t TestScale(size_t usual, size_t wide) {
  const char* scale = std::getenv("STRONGBIN_TEST_SCALE");
  return scale != nullptr && std::string_view(scale) == "wide" ? wide : usual;
}

}  // namespace strongbin
