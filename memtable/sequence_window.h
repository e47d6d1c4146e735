// Which sequence numbers cannot have been used before.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "strongbin/memtable/types.h"

namespace strongbin {

// Remembers the last kWords * 64 sequence numbers or so, one bit each, so that a writer whose numbers come almost in
// order, as those of parallel writers do, knows without a search that an entry is no duplicate.
//
// Thread safety: one writer. Cost: some instructions; 128 bytes.
class SequenceWindow {
 public:
  // Whether `sequence` has certainly not been noted before. Notes it.
  bool NoteNew(Sequence sequence) {
    return NoteNew(sequence, [] {});
  }
  // The same; calls on_advance() on the way about once in 64 numbers that ascend.
  template <class OnAdvance>
  bool NoteNew(Sequence sequence, OnAdvance&& on_advance) {
    const uint64_t word = sequence / 64;
    if (word > last_word_) [[unlikely]] {
      Advance(word);
      on_advance();
    }
    above_all_ = std::max(above_all_, sequence + 1);
    if (word + kWords <= last_word_) return false;
    uint64_t& bits = words_[word % kWords];
    const uint64_t bit = uint64_t{1} << (sequence % 64);
    const bool is_new = (bits & bit) == 0;
    bits |= bit;
    return is_new && sequence >= known_from_;
  }

  // Any number up to this one may have been used.
  void NoteAllUpTo(Sequence sequence) {
    known_from_ = std::max(known_from_, sequence + 1);
    above_all_ = std::max(above_all_, sequence + 1);
  }

  // Whether `sequence` is higher than all that were noted before, in whichever way. Notes it for this question alone.
  bool NoteHighest(Sequence sequence) {
    const bool is_highest = sequence >= above_all_;
    if (is_highest) above_all_ = sequence + 1;
    return is_highest;
  }

 private:
  static constexpr uint64_t kWords = 16;

  void Advance(uint64_t word) {
    const uint64_t first = word - last_word_ >= kWords ? word - kWords + 1 : last_word_ + 1;
    for (uint64_t i = first; i <= word; ++i) words_[i % kWords] = 0;
    last_word_ = word;
  }

  std::array<uint64_t, kWords> words_{};
  uint64_t last_word_ = 0;
  Sequence known_from_ = 0;
  Sequence above_all_ = 0;  // one more than the highest
};

}  // namespace strongbin
