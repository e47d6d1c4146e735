// How the lookup index grows: the part of lookup_index.h that runs once in thousands of inserts.
#pragma once

#include <bit>
#include <bitset>
#include <cstdint>
#include <new>

#include "strongbin/memtable/lookup_index.h"

namespace strongbin {

template <class Face>
typename LookupIndex<Face>::Line* LookupIndex<Face>::NewLines(uint32_t count) {
  char* bytes = arena_.Allocate(count * sizeof(Line), alignof(Line));
  if (bytes == nullptr) return nullptr;
  return new (bytes) Line[count]{};
}

template <class Face>
bool LookupIndex<Face>::Start() {
  Line* lines = NewLines(kMinLines);
  char* count = arena_.Allocate(sizeof(uint32_t), alignof(uint32_t));
  char* directory = arena_.Allocate(sizeof(DirectoryEntry), alignof(DirectoryEntry));
  if (lines == nullptr || count == nullptr || directory == nullptr) return false;
  constexpr auto kMinLineBits = static_cast<uint32_t>(std::bit_width(kMinLines) - 1);
  auto* entry = new (directory) DirectoryEntry{SegmentRef(lines, kMinLineBits, 0).word(), new (count) uint32_t{0}};
  StoreRoot({entry, 0});
  return true;
}

template <class Face>
bool LookupIndex<Face>::GrowSegmentOf(uint32_t hash31) {
  DirectoryEntry& entry = LoadRoot().EntryFor(hash31);
  const SegmentRef segment(entry.word.load(std::memory_order_relaxed));
  if (segment.line_count() < kMaxLines || segment.depth() >= kMaxDepth) return Enlarge(entry, hash31);
  return Split(hash31);
}

// Copies a segment into one of twice the lines. The old lines stay as they are for readers that are in them.
template <class Face>
bool LookupIndex<Face>::Enlarge(DirectoryEntry& entry, uint32_t hash31) {
  const SegmentRef old(entry.word.load(std::memory_order_relaxed));
  Line* lines = NewLines(old.line_count() * 2);
  if (lines == nullptr) return false;
  const SegmentRef larger(lines, old.line_bits() + 1, old.depth());
  uint64_t passed_slots = 0;
  for (uint32_t i = 0; i < old.line_count(); ++i) {
    for (const Slot& slot : old.lines()[i].slots) {
      const uint64_t word = slot.load(std::memory_order_relaxed);
      if (IsUsed(word)) Place(larger, word & ~kOverflow, &passed_slots);
    }
  }
  PutIntoDirectory(larger, entry.live_count, hash31);
  return true;
}

// Moves the slots whose next hash bit is 1 into a new sibling.
template <class Face>
bool LookupIndex<Face>::Split(uint32_t hash31) {
  const SegmentRef old(LoadRoot().EntryFor(hash31).word.load(std::memory_order_relaxed));
  if (old.depth() == LoadRoot().depth && !DoubleDirectory()) return false;
  Line* lines = NewLines(old.line_count());
  char* count = arena_.Allocate(sizeof(uint32_t), alignof(uint32_t));
  if (lines == nullptr || count == nullptr) return false;
  const SegmentRef kept(old.lines(), old.line_bits(), old.depth() + 1);
  const SegmentRef sibling(lines, old.line_bits(), old.depth() + 1);
  const uint32_t bit = uint32_t{1} << (kHashBits - 1 - old.depth());
  auto* sibling_count = new (count) uint32_t{0};
  uint32_t* kept_count = LoadRoot().EntryFor(hash31).live_count;
  uint64_t passed_slots = 0;
  for (uint32_t i = 0; i < old.line_count(); ++i) {
    for (const Slot& slot : old.lines()[i].slots) {
      const uint64_t word = slot.load(std::memory_order_relaxed);
      if (!IsUsed(word) || (SlotHash(word) & bit) == 0) continue;
      Place(sibling, word & ~kOverflow, &passed_slots);
      ++*sibling_count;
    }
  }
  *kept_count -= *sibling_count;
  PutIntoDirectory(sibling, sibling_count, hash31 | bit);
  PutIntoDirectory(kept, kept_count, hash31 & ~bit);
  ClearMoved(kept, bit);
  UnmarkLines(kept);
  return true;
}

// Empties the slots that a split has moved away. After the directory names the sibling for them.
template <class Face>
void LookupIndex<Face>::ClearMoved(const SegmentRef& segment, uint32_t bit) {
  for (uint32_t i = 0; i < segment.line_count(); ++i) {
    for (Slot& slot : segment.lines()[i].slots) {
      const uint64_t word = slot.load(std::memory_order_relaxed);
      // Release: a reader that sees the slot emptied sees the directory entries stored before.
      if (IsUsed(word) && (SlotHash(word) & bit) != 0) slot.store(word & kOverflow, std::memory_order_release);
    }
  }
}

// Takes the overflow mark from lines that no remaining key has passed. Such a key keeps the marks of all lines on its way, so a
// reader on its way to it is not stopped.
template <class Face>
void LookupIndex<Face>::UnmarkLines(const SegmentRef& segment) {
  const uint32_t mask = segment.line_mask();
  std::bitset<kMaxLines> passed;
  for (uint32_t line_number = 0; line_number <= mask; ++line_number) {
    for (const Slot& slot : segment.lines()[line_number].slots) {
      const uint64_t word = slot.load(std::memory_order_relaxed);
      if (!IsUsed(word)) continue;
      for (uint32_t home = SlotHash(word) & mask; home != line_number; home = (home + 1) & mask) passed.set(home);
    }
  }
  for (uint32_t line_number = 0; line_number <= mask; ++line_number) {
    Slot& first = segment.lines()[line_number].slots[0];
    const uint64_t word = first.load(std::memory_order_relaxed);
    // Release: as for every slot, so that the slot's own content stays published.
    if ((word & kOverflow) != 0 && !passed.test(line_number)) first.store(word & ~kOverflow, std::memory_order_release);
  }
}

template <class Face>
bool LookupIndex<Face>::DoubleDirectory() {
  const Root old = LoadRoot();
  const uint64_t old_count = uint64_t{1} << old.depth;
  char* bytes = arena_.Allocate(2 * old_count * sizeof(DirectoryEntry), alignof(DirectoryEntry));
  if (bytes == nullptr) return false;
  auto* entries = reinterpret_cast<DirectoryEntry*>(bytes);
  for (uint64_t i = 0; i < 2 * old_count; ++i) {
    const DirectoryEntry& from = old.directory[i / 2];
    new (&entries[i]) DirectoryEntry{from.word.load(std::memory_order_relaxed), from.live_count};
  }
  StoreRoot({entries, old.depth + 1});
  return true;
}

// Makes all directory entries of the segment's range name it.
template <class Face>
void LookupIndex<Face>::PutIntoDirectory(const SegmentRef& segment, uint32_t* live_count, uint32_t hash31) {
  const Root root = LoadRoot();
  const uint32_t free_bits = root.depth - segment.depth();
  const uint64_t first = (uint64_t{hash31} >> (kHashBits - segment.depth())) << free_bits;
  for (uint64_t i = first; i < first + (uint64_t{1} << free_bits); ++i) {
    root.directory[i].live_count = live_count;
    // Release: a reader that sees the entry sees the segment's lines.
    root.directory[i].word.store(segment.word(), std::memory_order_release);
  }
}

}  // namespace strongbin
