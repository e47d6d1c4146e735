// Values that prove that they belong to their key, sequence and generation.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "strongbin/memtable/types.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {

inline uint64_t ProofOf(std::string_view key, Sequence sequence, std::string_view body) {
  uint64_t proof = Scramble(sequence + 1);
  for (const std::string_view part : {key, body}) {
    for (const char c : part) proof = Scramble(proof ^ static_cast<unsigned char>(c)) + 1;
    proof = Scramble(proof + part.size());
  }
  return proof;
}

// The generation, some bytes, and the proof over all.
inline std::string ProvedValue(std::string_view key, Sequence sequence, uint64_t generation, size_t filler_bytes) {
  std::string value(reinterpret_cast<const char*>(&generation), sizeof(generation));
  value.append(filler_bytes, static_cast<char>('a' + sequence % 26));
  const uint64_t proof = ProofOf(key, sequence, value);
  return value.append(reinterpret_cast<const char*>(&proof), sizeof(proof));
}

// The generation, or nothing if the value is not the one of this key and sequence.
inline std::optional<uint64_t> ProvedGeneration(std::string_view key, Sequence sequence, std::string_view value) {
  uint64_t generation = 0, proof = 0;
  if (value.size() < sizeof(generation) + sizeof(proof)) return std::nullopt;
  const std::string_view body = value.substr(0, value.size() - sizeof(proof));
  std::memcpy(&proof, value.data() + body.size(), sizeof(proof));
  if (proof != ProofOf(key, sequence, body)) return std::nullopt;
  std::memcpy(&generation, body.data(), sizeof(generation));
  return generation;
}

}  // namespace strongbin
