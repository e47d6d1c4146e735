// The bytes of a log file: one file header, then records without gaps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace strongbin::kv {

struct LogHeader {
  std::array<char, 8> magic;
  uint64_t number;    // that of the file's name
  uint64_t salt;      // random
  uint64_t checksum;  // of what stands before it
};

// In front of each batch.
struct RecordHeader {
  uint64_t first_sequence;
  uint64_t payload_checksum;
  uint32_t payload_bytes;
  uint32_t entry_count;
  uint64_t checksum;  // of what stands before it, with the salt and the place in the file
};

inline constexpr std::array<char, 8> kLogMagic = {'s', 'b', 'k', 'v', 'l', 'o', 'g', '1'};

inline uint64_t ChecksumOf(const LogHeader& header) { return XXH3_64bits(&header, offsetof(LogHeader, checksum)); }

// Salt and place see to it that nothing passes for a record but what was written as one, there: no value that contains
// a log, and no remains of another file.
inline uint64_t ChecksumOf(const RecordHeader& header, uint64_t salt, uint64_t offset) {
  return XXH3_64bits_withSeed(&header, offsetof(RecordHeader, checksum), salt + offset);
}

inline uint64_t ChecksumOf(std::string_view payload) { return XXH3_64bits(payload.data(), payload.size()); }

}  // namespace strongbin::kv
