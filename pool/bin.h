// The idle chunks of one class.
#pragma once

#include "strongbin/pool/slab.h"

namespace strongbin {

// A list of idle chunks, newest on top. Owns its chunks: nothing leaves it by itself.
// Thread safety: none; guarded by the pool's mutex. Cost: constant, and it allocates nothing.
// Invariant: ticks fall from top to bottom, so the bottom has been idle the longest.
class Bin {
 public:
  ChunkRecord* newest() const { return newest_; }
  ChunkRecord* oldest() const { return oldest_; }

  void Push(ChunkRecord* record) {
    record->newer = nullptr;
    record->older = newest_;
    (newest_ != nullptr ? newest_->newer : oldest_) = record;
    newest_ = record;
  }

  void Remove(ChunkRecord* record) {
    (record->newer != nullptr ? record->newer->older : newest_) = record->older;
    (record->older != nullptr ? record->older->newer : oldest_) = record->newer;
    record->newer = nullptr;
    record->older = nullptr;
  }

 private:
  ChunkRecord* newest_ = nullptr;
  ChunkRecord* oldest_ = nullptr;
};

}  // namespace strongbin
