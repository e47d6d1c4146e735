// A tournament over a few sorted sources.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace strongbin {

// Names the source that comes first, and finds the next one with log2(sources) comparisons after that source has
// advanced. Idea: D. Knuth, The Art of Computer Programming, vol. 3, "replacement selection": inner nodes keep the
// losers.
//
// `before(a, b)` says whether source a's head comes before source b's; an exhausted source comes before none.
// Owns only indices. Thread safety: one thread.
template <size_t kMaxSources>
class LoserTree {
 public:
  // Plays all matches. Requires 1 <= count <= kMaxSources.
  template <class Before>
  void Build(uint32_t count, Before&& before) {
    count_ = count;
    if (count == 1) {
      winner_ = 0;
      return;
    }
    // Sources are the leaves count .. 2 * count - 1 of a heap-shaped tree.
    std::array<uint32_t, 2 * kMaxSources> winners;
    for (uint32_t i = 0; i < count; ++i) winners[count + i] = i;
    for (uint32_t node = count - 1; node > 0; --node) {
      const uint32_t left = winners[2 * node], right = winners[2 * node + 1];
      const bool right_wins = before(right, left);
      winners[node] = right_wins ? right : left;
      losers_[node] = right_wins ? left : right;
    }
    winner_ = winners[1];
  }

  uint32_t winner() const { return winner_; }

  // Plays the matches of the winner again, after its head has changed.
  template <class Before>
  void Replay(Before&& before) {
    for (uint32_t node = (count_ + winner_) / 2; node > 0; node /= 2) {
      if (before(losers_[node], winner_)) std::swap(losers_[node], winner_);
    }
  }

 private:
  uint32_t count_ = 0;
  uint32_t winner_ = 0;
  std::array<uint32_t, kMaxSources> losers_{};
};

}  // namespace strongbin
