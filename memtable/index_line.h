// One cache line of the lookup index.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace strongbin {

// Eight slots, each a hash of 31 bits, never 0, with the value that belongs to it; and a mark that says that others
// have passed this line on their way to a later one.
//
// The hashes lie together, two in a word, so that all eight are looked at by arithmetic on words, without a branch: how
// many slots are in use is a coin toss that the processor would lose. (Idea: H. Warren, "Hacker's Delight", 6-1,
// finding a zero byte.)
//
// Thread safety: one writer; readers beside it. Publication: a value is there before its hash is, and a reader loads
// the hash with acquire. A slot that is cleared may be filled with another hash: a reader that has loaded a value asks
// Holds, and it was that of its hash if the hash is still there; a hash that has left a line never comes back to it.
class alignas(64) IndexLine {
 public:
  static constexpr uint32_t kSlots = 8;
  static constexpr uint32_t kHashMask = 0x7FFFFFFF;

  // Sets of slots, to be taken apart by Lowest and `bits &= bits - 1`.
  struct View {
    uint64_t matches;  // with the wanted hash
    uint64_t unused;
    bool is_passed;
  };
  static size_t Lowest(uint64_t slots) {
    const auto bit = static_cast<size_t>(std::countr_zero(slots));
    return (bit & 31) * 2 + (bit >> 5);
  }

  [[gnu::always_inline]] View LookFor(uint32_t hash, std::memory_order order) const {
    const uint64_t wanted = uint64_t{hash} << 32 | hash;
    uint64_t matches = 0, unused = 0;
    for (size_t i = 0; i < kWords; ++i) {
      const uint64_t word = hashes_[i].load(order) & kHashes;
      matches |= ZeroHalves(word ^ wanted) >> (31 - i);
      unused |= ZeroHalves(word) >> (31 - i);
    }
    return {matches, unused, is_passed(order)};
  }

  uint32_t HashAt(size_t slot, std::memory_order order) const {
    return static_cast<uint32_t>(hashes_[slot / 2].load(order) >> ShiftOf(slot)) & kHashMask;
  }
  // Readers: acquire, so that Holds looks later and what the value leads to is whole.
  uint32_t ValueAt(size_t slot, std::memory_order order) const { return values_[slot].load(order); }
  // Acquire: a reader that sees a slot cleared sees the directory entries stored before.
  bool Holds(size_t slot, uint32_t hash) const { return HashAt(slot, std::memory_order_acquire) == hash; }
  bool is_passed(std::memory_order order) const { return (hashes_[0].load(order) & kPassed) != 0; }

  // ---- Writer ----

  // A slot that is unused.
  void Fill(size_t slot, uint32_t hash, uint32_t value) {
    // Release: a reader that sees the value, in place of one it wanted, sees that the hash of that has gone.
    values_[slot].store(value, std::memory_order_release);
    const uint64_t word = hashes_[slot / 2].load(std::memory_order_relaxed);
    // Release: who sees the hash sees the value and what it leads to.
    hashes_[slot / 2].store(word | (uint64_t{hash} << ShiftOf(slot)), std::memory_order_release);
  }
  // Release: who sees the value sees what it leads to.
  void SetValue(size_t slot, uint32_t value) { values_[slot].store(value, std::memory_order_release); }
  void SetPassed(bool is_passed) {
    const uint64_t word = hashes_[0].load(std::memory_order_relaxed);
    // Release, as for every store to a word of hashes: what it publishes of old stays published.
    hashes_[0].store(is_passed ? word | kPassed : word & ~kPassed, std::memory_order_release);
  }
  // Release: as for LetGoOfHalf.
  void Clear(size_t slot) {
    const uint64_t word = hashes_[slot / 2].load(std::memory_order_relaxed);
    hashes_[slot / 2].store(word & ~(uint64_t{kHashMask} << ShiftOf(slot)), std::memory_order_release);
  }
  // Makes this line, which nobody else knows yet, what `from` has of hashes with the given bit, and its mark. Returns
  // how many slots that are.
  uint32_t TakeHalfOf(const IndexLine& from, int hash_bit) {
    uint64_t count = 0;
    for (size_t i = 0; i < kWords; ++i) {
      const uint64_t word = from.hashes_[i].load(std::memory_order_relaxed);
      const uint64_t moved = word & HalvesWith(word, hash_bit) & kHashes;
      count += (~ZeroHalves(moved) & ~kHashes) >> 31;
      // Relaxed, as below: the line is published as a whole.
      hashes_[i].store(moved | (i == 0 ? word & kPassed : 0), std::memory_order_relaxed);
    }
    for (size_t slot = 0; slot < kSlots; ++slot) {
      values_[slot].store(from.values_[slot].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    return static_cast<uint32_t>(count) + static_cast<uint32_t>(count >> 32);
  }
  // Clears the slots that TakeHalfOf has taken.
  void LetGoOfHalf(int hash_bit) {
    for (std::atomic<uint64_t>& hashes : hashes_) {
      const uint64_t word = hashes.load(std::memory_order_relaxed);
      // Release: pairs with LookFor and Holds.
      hashes.store(word & ~(HalvesWith(word, hash_bit) & kHashes), std::memory_order_release);
    }
  }

 private:
  static constexpr size_t kWords = kSlots / 2;
  static constexpr uint64_t kHashes = uint64_t{kHashMask} << 32 | kHashMask;
  static constexpr uint64_t kPassed = uint64_t{1} << 31;

  static int ShiftOf(size_t slot) { return slot % 2 == 0 ? 0 : 32; }
  // The upper bit of each half whose 31 other bits are 0. The upper bits of `word` must not be set: then no sum carries
  // into the other half.
  static uint64_t ZeroHalves(uint64_t word) { return ~(word + kHashes) & ~kHashes; }
  // All bits of each half that has the given bit.
  static uint64_t HalvesWith(uint64_t word, int bit) {
    constexpr uint64_t kLowest = uint64_t{1} << 32 | 1;
    return ((word >> bit) & kLowest) * UINT32_MAX;
  }

  std::atomic<uint64_t> hashes_[kWords] = {};
  std::atomic<uint32_t> values_[kSlots] = {};
};
static_assert(sizeof(IndexLine) == 64);

}  // namespace strongbin
