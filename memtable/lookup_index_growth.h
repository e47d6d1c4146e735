// How the lookup index grows: the part of lookup_index.h that runs once in thousands of inserts.
#pragma once

#include <array>
#include <bit>
#include <bitset>
#include <cstdint>
#include <new>

#include "strongbin/memtable/lookup_index.h"
#include "strongbin/stats/test_points.h"

namespace strongbin {

template <class Face>
typename LookupIndex<Face>::DirectoryEntry* LookupIndex<Face>::NewDirectory(uint32_t depth) {
  return reinterpret_cast<DirectoryEntry*>(
      directories_.Allocate(sizeof(DirectoryEntry) << depth, alignof(DirectoryEntry)));
}

// How deep a directory the expected keys will need.
template <class Face>
uint32_t LookupIndex<Face>::StartDepth() const {
  // Some room below the limit, so that chance does not fill one segment before its time.
  constexpr uint64_t kKeysOfSegment = uint64_t{kMaxLines} * Line::kSlots / 16 * kMaxFillSixteenths / 12 * 11;
  uint32_t depth = 0;
  while (depth < kMaxDepth && (kKeysOfSegment << depth) < expected_keys_) ++depth;
  return depth;
}

// A directory as deep as the expected keys will need, of segments that are still to be made. Without an expectation:
// one.
template <class Face>
bool LookupIndex<Face>::Start() {
  const uint32_t depth = StartDepth();
  DirectoryEntry* directory = NewDirectory(depth);
  if (directory == nullptr) return false;
  for (uint64_t i = 0; i < uint64_t{1} << depth; ++i) {
    new (&directory[i]) DirectoryEntry{SegmentRef(&kNoLine, 0, depth).word(), 0};
  }
  StoreRoot({directory, depth});
  return true;
}

template <class Face>
bool LookupIndex<Face>::GrowSegmentOf(uint32_t hash31) {
  const SegmentRef segment(LoadRoot().EntryFor(hash31).word.load(std::memory_order_relaxed));
  if (segment.line_count() < kMaxLines || segment.depth() >= kMaxDepth) return Enlarge(hash31);
  return Split(hash31);
}

// Makes a segment, or copies it into one of twice the lines. The old lines stay as they are for readers that are in
// them.
template <class Face>
bool LookupIndex<Face>::Enlarge(uint32_t hash31) {
  const Root root = LoadRoot();
  const SegmentRef old(root.EntryFor(hash31).word.load(std::memory_order_relaxed));
  const bool is_first = old.lines() == &kNoLine;
  // A lone segment begins small; those of a directory that was made deep will be filled.
  const uint32_t first_lines = root.depth == 0 ? kMinLines : kMaxLines;
  const uint32_t line_count = is_first ? first_lines : old.line_count() * 2;
  Line* lines = NewLines(line_count);
  if (lines == nullptr) return false;
  for (uint32_t i = 0; i < line_count; ++i) new (&lines[i]) Line{};
  const SegmentRef larger(lines, static_cast<uint32_t>(std::bit_width(line_count) - 1), old.depth());
  for (uint32_t i = 0; !is_first && i < old.line_count(); ++i) {
    const Line& line = old.lines()[i];
    for (size_t slot = 0; slot < Line::kSlots; ++slot) {
      const uint32_t slot_hash = line.HashAt(slot, std::memory_order_relaxed);
      if (slot_hash != 0) Place(larger, slot_hash, line.ValueAt(slot, std::memory_order_relaxed));
    }
  }
  if (!is_first) outgrown_bytes_.Add(old.line_count() * sizeof(Line));
  PutIntoDirectory(larger, root.FirstEntryOf(old, hash31).live_count, hash31);
  return true;
}

// Moves the slots whose next hash bit is 1 into a new sibling, each to the same place in the same line: home lines and
// the marks on the way to displaced hashes are then right in both halves, and nothing need be searched. Then those that
// have room in their home lines again go there.
template <class Face>
bool LookupIndex<Face>::Split(uint32_t hash31) {
  const SegmentRef old(LoadRoot().EntryFor(hash31).word.load(std::memory_order_relaxed));
  if (old.depth() == LoadRoot().depth && !DoubleDirectory()) return false;
  Line* lines = NewLines(old.line_count());
  if (lines == nullptr) return false;
  const SegmentRef kept(old.lines(), old.line_bits(), old.depth() + 1);
  const SegmentRef sibling(lines, old.line_bits(), old.depth() + 1);
  const int bit = kHashBits - 1 - static_cast<int>(old.depth());
  uint64_t moved_count = 0;
  for (uint32_t i = 0; i < old.line_count(); ++i)
    moved_count += (new (&lines[i]) Line)->TakeHalfOf(old.lines()[i], bit);
  SlotSets left;
  CopyHome(sibling, &left);
  ClearSlots(sibling, left);
  UnmarkLines(sibling);
  const uint64_t kept_count = LoadRoot().FirstEntryOf(old, hash31).live_count - moved_count;
  const uint32_t hash_bit = uint32_t{1} << bit;
  PutIntoDirectory(sibling.Settled(), moved_count, hash31 | hash_bit);
  YieldPoint(YieldAt::k_segment_split);
  PutIntoDirectory(kept, kept_count, hash31 & ~hash_bit);
  for (uint32_t i = 0; i < kept.line_count(); ++i) kept.lines()[i].LetGoOfHalf(bit);
  CopyHome(kept, &left);
  YieldPoint(YieldAt::k_segment_split);
  PutIntoDirectory(kept.Settled(), kept_count, hash31 & ~hash_bit);
  ClearSlots(kept, left);
  UnmarkLines(kept);
  return true;
}

// Calls visit(line number, slot, hash) for each hash that lies behind its home line.
template <class Face>
template <class Visit>
void LookupIndex<Face>::ForEachDisplaced(const SegmentRef& segment, Visit&& visit) {
  const uint32_t mask = segment.line_mask();
  for (uint32_t line_number = 0; line_number <= mask; ++line_number) {
    // Only behind a marked line there can be hashes of other lines.
    if (!segment.lines()[line_number].is_passed(std::memory_order_relaxed)) continue;
    const uint32_t behind = (line_number + 1) & mask;
    for (size_t slot = 0; slot < Line::kSlots; ++slot) {
      const uint32_t slot_hash = segment.lines()[behind].HashAt(slot, std::memory_order_relaxed);
      if (slot_hash != 0 && (slot_hash & mask) != behind) visit(behind, slot, slot_hash);
    }
  }
}

// Copies displaced hashes into their home lines, where these have room. Says which slots are then no longer needed.
template <class Face>
void LookupIndex<Face>::CopyHome(const SegmentRef& segment, SlotSets* left) {
  left->fill(0);
  ForEachDisplaced(segment, [&](uint32_t line_number, size_t slot, uint32_t slot_hash) {
    Line& home = segment.lines()[slot_hash & segment.line_mask()];
    const uint64_t unused = home.LookFor(slot_hash, std::memory_order_relaxed).unused;
    if (unused == 0) return;
    home.Fill(Line::Lowest(unused), slot_hash, segment.lines()[line_number].ValueAt(slot, std::memory_order_relaxed));
    (*left)[line_number] |= static_cast<uint8_t>(1 << slot);
  });
}

template <class Face>
void LookupIndex<Face>::ClearSlots(const SegmentRef& segment, const SlotSets& slots) {
  for (uint32_t i = 0; i < segment.line_count(); ++i) {
    for (size_t slot = 0; slots[i] >> slot != 0; ++slot) {
      if ((slots[i] >> slot & 1) != 0) segment.lines()[i].Clear(slot);
    }
  }
}

// Takes the overflow mark from lines that no remaining key has passed. A key that has passed a line keeps the marks of
// all lines from its home to its place, so a reader on its way to it is not stopped.
template <class Face>
void LookupIndex<Face>::UnmarkLines(const SegmentRef& segment) {
  const uint32_t mask = segment.line_mask();
  std::bitset<kMaxLines> is_passed;
  ForEachDisplaced(segment, [&](uint32_t line_number, size_t, uint32_t slot_hash) {
    for (uint32_t home = slot_hash & mask; home != line_number; home = (home + 1) & mask) is_passed.set(home);
  });
  for (uint32_t line_number = 0; line_number <= mask; ++line_number) {
    Line& line = segment.lines()[line_number];
    if (line.is_passed(std::memory_order_relaxed) && !is_passed.test(line_number)) line.SetPassed(false);
  }
}

template <class Face>
bool LookupIndex<Face>::DoubleDirectory() {
  const Root old = LoadRoot();
  const uint64_t old_count = uint64_t{1} << old.depth;
  DirectoryEntry* entries = NewDirectory(old.depth + 1);
  if (entries == nullptr) return false;
  for (uint64_t i = 0; i < 2 * old_count; ++i) {
    const DirectoryEntry& from = old.directory[i / 2];
    new (&entries[i]) DirectoryEntry{from.word.load(std::memory_order_relaxed), from.live_count};
  }
  StoreRoot({entries, old.depth + 1});
  return true;
}

// Makes all directory entries of the segment's range name it.
template <class Face>
void LookupIndex<Face>::PutIntoDirectory(const SegmentRef& segment, uint64_t live_count, uint32_t hash31) {
  const Root root = LoadRoot();
  DirectoryEntry* first = &root.FirstEntryOf(segment, hash31);
  first->live_count = live_count;
  for (uint64_t i = 0; i < uint64_t{1} << (root.depth - segment.depth()); ++i) {
    // Release: a reader that sees the entry sees the segment's lines.
    first[i].word.store(segment.word(), std::memory_order_release);
  }
}

}  // namespace strongbin
