// How the lookup index takes what does not simply go into the home line of its hash.
#pragma once

#include <cstdint>
#include <optional>

#include "strongbin/memtable/lookup_index.h"

namespace strongbin {

// The rest of Insert: looks for the key in all lines that it may be in, grows its segment when that is full.
template <class Face>
typename LookupIndex<Face>::Outcome LookupIndex<Face>::InsertSlow(uint32_t hash31, uint32_t handle) {
  if (empty() && !Start()) return Outcome::kOutOfMemory;
  for (;;) {
    const Root root = LoadRoot();
    const SegmentRef segment(root.EntryFor(hash31).word.load(std::memory_order_relaxed));
    if (Slot* slot = FindSlot(segment, hash31, *log_.At(handle))) return AddVersion(*slot, handle);
    uint64_t& live_count = root.FirstEntryOf(segment, hash31).live_count;
    if (live_count < MaxLiveCount(segment)) {
      const uint64_t passed_slots = Place(segment, NewWord(hash31, handle));
      ++live_count;
      ++key_count_;
      if (passed_slots > longest_chain_) longest_chain_ = passed_slots;
      return Outcome::kNewKey;
    }
    if (!GrowSegmentOf(hash31)) return Outcome::kOutOfMemory;
  }
}

// The slot that stands for the key of `entry`; null when there is none. Writer only.
template <class Face>
typename LookupIndex<Face>::Slot* LookupIndex<Face>::FindSlot(const SegmentRef& segment, uint32_t hash31,
                                                              const typename Face::Slot& entry) {
  const uint32_t mask = segment.line_mask();
  uint32_t line_number = hash31 & mask;
  for (uint32_t passed = 0; passed <= mask; ++passed, line_number = (line_number + 1) & mask) {
    Line& line = segment.lines()[line_number];
    const LineView view(line, hash31, std::memory_order_relaxed);
    for (uint32_t matches = view.matches & ~view.unused; matches != 0; matches &= matches - 1) {
      Slot& slot = line.slots[Lowest(matches)];
      const auto& other = AnyEntryOf(slot.load(std::memory_order_relaxed));
      if (Face::HasKey(other, Face::Key(entry), Face::Prefix(entry))) return &slot;
    }
    if (!view.is_passed) break;
  }
  return nullptr;
}

template <class Face>
typename LookupIndex<Face>::Outcome LookupIndex<Face>::AddVersion(Slot& slot, uint32_t handle) {
  const uint64_t word = slot.load(std::memory_order_relaxed);
  const uint64_t kept = word & ~(kIsList | kValueMask);
  uint32_t list_id;
  if ((word & kIsList) == 0) {
    const auto only = static_cast<uint32_t>(word & kValueMask) - 1;
    const auto& entry = *log_.At(only);
    if (Face::SequenceOf(entry) == Face::SequenceOf(*log_.At(handle)) && !Face::IsDead(entry))
      return Outcome::kDuplicate;
    const std::optional<uint32_t> created = MakeVersions() ? Versions()->Create(only, handle) : std::nullopt;
    if (!created) return Outcome::kOutOfMemory;
    list_id = *created;
  } else {
    list_id = static_cast<uint32_t>(word & kValueMask);
    switch (Versions()->Add(&list_id, handle)) {
      case VersionLists<Face>::Outcome::kAdded:
        break;
      case VersionLists<Face>::Outcome::kDuplicate:
        return Outcome::kDuplicate;
      case VersionLists<Face>::Outcome::kOutOfMemory:
        return Outcome::kOutOfMemory;
    }
  }
  // Release: a reader that sees the id sees the list. Also a no-op store when the list has kept its id.
  slot.store(kept | kIsList | list_id, std::memory_order_release);
  return Outcome::kNewVersion;
}

// Puts a word into the first free slot from its home line on and marks the lines it passes. The segment must have one.
// Returns how many slots it passed.
template <class Face>
uint64_t LookupIndex<Face>::Place(const SegmentRef& segment, uint64_t word) {
  const uint32_t mask = segment.line_mask();
  uint64_t passed_slots = 0;
  for (uint32_t line_number = SlotHash(word) & mask;; line_number = (line_number + 1) & mask) {
    Line& line = segment.lines()[line_number];
    const LineView view(line, SlotHash(word), std::memory_order_relaxed);
    if (view.unused != 0) {
      Fill(line.slots[Lowest(view.unused)], word);
      return passed_slots;
    }
    passed_slots += kLineSlots;
    // Release keeps the slot's earlier content published; the mark itself orders nothing.
    Slot& first = line.slots[0];
    if (!view.is_passed) first.store(first.load(std::memory_order_relaxed) | kOverflow, std::memory_order_release);
  }
}

}  // namespace strongbin
