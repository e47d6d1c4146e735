// The entry of the RocksDB face: the bytes that RocksDB itself encodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "strongbin/memtable/entry.h"
#include "strongbin/memtable/rocksdb/encoded_log.h"
#include "strongbin/memtable/types.h"

namespace strongbin {

// Sequence and type behind the user key, as RocksDB packs them: sequence << 8 | type.
inline constexpr size_t kTagBytes = 8;

// An internal key, taken apart. Views the bytes it was made from.
struct InternalKey {
  std::string_view user_key;
  Sequence sequence;

  // `bytes` is a user key with its tag; at least kTagBytes.
  explicit InternalKey(std::string_view bytes) : user_key(bytes.substr(0, bytes.size() - kTagBytes)) {
    uint64_t tag = 0;
    std::memcpy(&tag, bytes.data() + user_key.size(), kTagBytes);
    sequence = tag >> 8;
  }
};

// What lies behind a length that is written as a varint32. (RocksDB's own function is not exported by every build.)
inline std::string_view LengthPrefixed(const char* data) {
  uint32_t length = static_cast<uint8_t>(*data++);
  if (length < 0x80) [[likely]]
    return {data, length};
  length &= 0x7F;
  for (int shift = 7; shift < 35; shift += 7) {
    const auto byte = static_cast<uint8_t>(*data++);
    length |= static_cast<uint32_t>(byte & 0x7F) << shift;
    if (byte < 0x80) break;
  }
  return {data, length};
}

// What the core must know of an entry; see EntryFace. Only the key part is ever read: RocksDB may rewrite the value in
// place.
struct EncodedFace {
  using Slot = EncodedEntry;
  using Log = EncodedLog;

  static InternalKey Decode(const EncodedEntry& entry) { return InternalKey(LengthPrefixed(entry.bytes)); }

  static std::string_view Key(const EncodedEntry& entry) {
    const std::string_view internal_key = LengthPrefixed(entry.bytes);
    return internal_key.substr(0, internal_key.size() - kTagBytes);
  }
  static uint64_t Prefix(const EncodedEntry& entry) { return KeyPrefix(Key(entry)); }
  static Sequence SequenceOf(const EncodedEntry& entry) { return Decode(entry).sequence; }
  static bool IsDead(const EncodedEntry&) { return false; }
  static bool HasKey(const EncodedEntry& entry, std::string_view key, uint64_t) { return Key(entry) == key; }
  // The key and its tag may reach into the line behind its first bytes.
  static void WakeSlot(const EncodedEntry* entry) {
    constexpr size_t kUsualKeyBytes = 32;
    __builtin_prefetch(entry->bytes);
    __builtin_prefetch(entry->bytes + kUsualKeyBytes);
  }
  // Readers want the value too: all lines that an entry of some 160 bytes may lie in.
  static void WakeForReader(const EncodedEntry* entry) {
    constexpr size_t kLineBytes = 64;
    for (size_t line = 0; line < 3; ++line) __builtin_prefetch(entry->bytes + line * kLineBytes);
    __builtin_prefetch(entry->bytes + 5 * kLineBytes / 2);
  }
  static void WakeBytes(const EncodedEntry&) {}  // they lie in the slot
};

}  // namespace strongbin
