#include "strongbin/pool/slab.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <new>

namespace strongbin {
namespace {

// Of each group of `group` neighbouring bits: all of them if the whole group is set, else none.
uint64_t WholeGroups(uint64_t bits, size_t group) {
  for (size_t shift = 1; shift < group; shift *= 2) bits &= bits >> shift;
  uint64_t firsts = 0;
  for (size_t at = 0; at < 64; at += group) firsts |= uint64_t{1} << at;
  bits &= firsts;
  for (size_t shift = 1; shift < group; shift *= 2) bits |= bits << shift;
  return bits;
}

// Of each group: all bits if any is set.
uint64_t TouchedGroups(uint64_t bits, size_t group) { return ~WholeGroups(~bits, group); }

}  // namespace

Slab* Slab::Create(ChunkPool* pool, char* base, size_t slot, size_t chunk_bytes, size_t chunk_count) {
  static_assert(alignof(Slab) >= alignof(ChunkRecord) && sizeof(Slab) % alignof(ChunkRecord) == 0);
  const size_t map_bytes = WordCount(chunk_count) * sizeof(uint64_t);
  void* memory = operator new(sizeof(Slab) + 3 * map_bytes + chunk_count * sizeof(ChunkRecord), std::nothrow);
  if (memory == nullptr) return nullptr;
  Slab* slab = new (memory) Slab(pool, base, slot, chunk_bytes, chunk_count);
  std::uninitialized_fill_n(slab->Words(0), 3 * WordCount(chunk_count), uint64_t{0});
  std::uninitialized_default_construct_n(slab->Records(), chunk_count);
  for (size_t i = 0; i < chunk_count; i++) {
    slab->record(i)->slab = slab;
    slab->Free()[i / 64] |= uint64_t{1} << (i % 64);
  }
  slab->free_count_ = chunk_count;
  return slab;
}

void Slab::Destroy(Slab* slab) {
  slab->~Slab();
  operator delete(slab);
}

void Slab::MarkResident() {
  for (size_t w = 0; w < WordCount(chunk_count_); w++) Resident()[w] |= Free()[w];
}

ChunkRecord* Slab::Carve(bool* was_resident) {
  for (const bool resident : {true, false}) {
    for (size_t w = 0; w < WordCount(chunk_count_); w++) {
      const uint64_t wanted = resident ? Resident()[w] : ~Resident()[w];
      const uint64_t candidates = Free()[w] & ~Leaving()[w] & wanted;
      if (candidates == 0) continue;
      const uint64_t bit = candidates & (~candidates + 1);
      Free()[w] &= ~bit;
      Resident()[w] &= ~bit;
      free_count_--;
      *was_resident = resident;
      return record(w * 64 + static_cast<size_t>(std::countr_zero(bit)));
    }
  }
  return nullptr;
}

void Slab::Free(ChunkRecord* record) {
  assert(record->state != ChunkState::kFree);
  record->state = ChunkState::kFree;
  const size_t index = IndexOf(record);
  Free()[index / 64] |= uint64_t{1} << (index % 64);
  Resident()[index / 64] |= uint64_t{1} << (index % 64);
  free_count_++;
}

Slab::Room Slab::FindRoom() const {
  const uint64_t* free = Words(0);
  const uint64_t* resident = Words(1);
  const uint64_t* leaving = Words(2);
  Room found = Room::kNone;
  for (size_t w = 0; w < WordCount(chunk_count_); w++) {
    const uint64_t carvable = free[w] & ~leaving[w];
    if ((carvable & resident[w]) != 0) return Room::kResident;
    if (carvable != 0) found = Room::kDiscarded;
  }
  return found;
}

bool Slab::PlanGiveBack(size_t page_bytes, bool may_unmap, GiveBack* give_back) {
  give_back->whole = may_unmap && AllFree() && leaving_count_ == 0;
  // A source that does not carve has no use for half a mapping.
  if (!give_back->whole && chunk_count_ == 1) return false;
  const size_t group = std::max<size_t>(1, page_bytes / chunk_bytes_);
  size_t count = 0;
  for (size_t w = 0; w < WordCount(chunk_count_); w++) {
    uint64_t take = Free()[w] & ~Leaving()[w];
    if (!give_back->whole) take = WholeGroups(take, group) & TouchedGroups(take & Resident()[w], group);
    give_back->leaving[w] = take;
    Leaving()[w] |= take;
    count += static_cast<size_t>(std::popcount(take));
  }
  leaving_count_ += count;
  if (give_back->whole) unmapping_ = true;
  return count > 0;
}

size_t Slab::FinishGiveBack(const GiveBack& give_back) {
  size_t returned_count = 0;
  // What is unmapped stays shut to carving until the slab itself is gone.
  const bool reopen = !give_back.unmapped;
  for (size_t w = 0; w < WordCount(chunk_count_); w++) {
    if (reopen) {
      leaving_count_ -= static_cast<size_t>(std::popcount(give_back.leaving[w]));
      Leaving()[w] &= ~give_back.leaving[w];
    }
    returned_count += static_cast<size_t>(std::popcount(Resident()[w] & give_back.left[w]));
    Resident()[w] &= ~give_back.left[w];
  }
  if (reopen && give_back.whole) unmapping_ = false;
  return returned_count * chunk_bytes_;
}

void Slab::ForgetGiveBackAfterFork() {
  queued = false;
  if (unmapping_) return;
  std::fill_n(Leaving(), WordCount(chunk_count_), uint64_t{0});
  leaving_count_ = 0;
}

}  // namespace strongbin
