// How long random tests run, and what watches them.
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

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

// Whether the lines that run are counted, which preset `coverage` does.
#ifdef STRONGBIN_COVERAGE
inline constexpr bool kLinesCounted = true;
#else
inline constexpr bool kLinesCounted = false;
#endif

}  // namespace strongbin
