// How large a test is, and which sanitizer watches it.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace strongbin {

// `usual` rounds, or `wide` of them when the environment variable STRONGBIN_TEST_WIDE is set to anything but "" and
// "0".
inline size_t Rounds(size_t usual, size_t wide) {
  const char* value = std::getenv("STRONGBIN_TEST_WIDE");
  const bool is_wide = value != nullptr && value[0] != '\0' && !(value[0] == '0' && value[1] == '\0');
  return is_wide ? wide : usual;
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

}  // namespace strongbin
