// The entry of the embedded memtable, as it lies in the append log.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "strongbin/memtable/append_log.h"
#include "strongbin/memtable/types.h"

namespace strongbin {

static_assert(std::endian::native == std::endian::little, "KeyPrefix turns little-endian loads into big-endian order");

// The first eight bytes of a key, zero-padded, as an integer that compares as the bytes do.
inline uint64_t KeyPrefix(std::string_view key) {
  uint64_t word = 0;
  if (key.size() >= sizeof(word)) [[likely]] {
    std::memcpy(&word, key.data(), sizeof(word));
  } else if (!key.empty()) {
    std::memcpy(&word, key.data(), key.size());
  }
  return __builtin_bswap64(word);
}

// Negative, zero or positive as `a` comes before, with or after `b`: bytes as unsigned numbers, shorter first.
inline int CompareKeys(std::string_view a, std::string_view b) {
  const size_t common = a.size() < b.size() ? a.size() : b.size();
  const int order = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
  if (order != 0) return order;
  return a.size() < b.size() ? -1 : (a.size() > b.size() ? 1 : 0);
}

// Pointer and length in one word: 48 bits of address and 16 of length. What does not fit is described in the arena.
//
// Owns nothing; the bytes live as long as the arena that holds them, or as their lender promised.
class ByteRef {
 public:
  // For bytes whose length or address does not fit.
  struct Far {
    const char* data;
    uint64_t size;
  };
  static bool Fits(const char* data, size_t size) {
    return size < kFarLength && (reinterpret_cast<uintptr_t>(data) >> kAddressBits) == 0;
  }
  static ByteRef Near(const char* data, size_t size) {
    return ByteRef(reinterpret_cast<uintptr_t>(data) | (uint64_t{size} << kAddressBits));
  }
  static ByteRef ToFar(const Far* far) {
    return ByteRef(reinterpret_cast<uintptr_t>(far) | (kFarLength << kAddressBits));
  }

  std::string_view view() const {
    const uint64_t length = word_ >> kAddressBits;
    if (length != kFarLength) [[likely]]
      return {address(), length};
    const auto* far = reinterpret_cast<const Far*>(address());
    return {far->data, far->size};
  }
  // The length where the reference itself holds it, without a look at a Far; other lengths give kFarLength.
  uint64_t near_length() const { return word_ >> kAddressBits; }

 private:
  static constexpr int kAddressBits = 48;
  static constexpr uint64_t kFarLength = 0xFFFF;

  explicit ByteRef(uint64_t word) : word_(word) {}
  const char* address() const { return reinterpret_cast<const char*>(word_ & ((uint64_t{1} << kAddressBits) - 1)); }

  uint64_t word_;
};

inline constexpr size_t kInlineKeyBytes = 8;

// One appended version: 32 bytes. Immutable once published, but for the dead mark.
struct Entry {
  // Sequence in the upper 56 bits, dead mark in bit 7, kind below. Atomic because a batch that fails half-way marks its
  // entries dead while readers may look at them; relaxed everywhere, since publication of the entry orders all but that
  // mark, and a reader that misses the mark reads as if just before it.
  std::atomic<uint64_t> tag;
  char inline_key[kInlineKeyBytes];  // first bytes of the key, zero-padded; the whole key when it is short
  ByteRef key;                       // address unused for short keys
  ByteRef value;
};
static_assert(sizeof(Entry) == 32);

// What the shared core must know of an entry to find and order it. The other face has the same members for its own
// slots.
struct EntryFace {
  using Slot = Entry;
  using Log = AppendLog<Entry>;

  static constexpr uint64_t kDeadBit = 0x80;
  static uint64_t MakeTag(Sequence sequence, EntryKind kind) { return (sequence << 8) | static_cast<uint64_t>(kind); }

  static std::string_view Key(const Entry& entry) {
    const uint64_t length = entry.key.near_length();
    if (length <= kInlineKeyBytes) return {entry.inline_key, length};
    return entry.key.view();
  }
  static uint64_t Prefix(const Entry& entry) { return KeyPrefix({entry.inline_key, kInlineKeyBytes}); }
  static Sequence SequenceOf(const Entry& entry) { return entry.tag.load(std::memory_order_relaxed) >> 8; }
  static bool IsDead(const Entry& entry) { return (entry.tag.load(std::memory_order_relaxed) & kDeadBit) != 0; }
  static EntryKind KindOf(const Entry& entry) {
    return static_cast<EntryKind>(entry.tag.load(std::memory_order_relaxed) & (kDeadBit - 1));
  }
  static bool HasKey(const Entry& entry, std::string_view key, uint64_t prefix) {
    return Prefix(entry) == prefix && Key(entry) == key;
  }
  // What brings an entry into the cache, step by step: its slot; the bytes that a comparison of keys will want; the
  // slot and the bytes that a reader will want.
  static void WakeSlot(const Entry* entry) { __builtin_prefetch(entry); }
  static void WakeForReader(const Entry* entry) { WakeSlot(entry); }
  static void WakeBytes(const Entry& entry) {
    if (entry.key.near_length() > kInlineKeyBytes) __builtin_prefetch(entry.key.view().data());
  }
};

}  // namespace strongbin
