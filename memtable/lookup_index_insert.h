// How the lookup index takes what does not simply go into the home line of its hash.
#pragma once

#include <cstdint>
#include <optional>

#include "strongbin/memtable/lookup_index.h"

namespace strongbin {

// The rest of Insert: looks for the hash in all lines that it may be in, grows its segment when that is full.
template <class Face>
typename LookupIndex<Face>::Outcome LookupIndex<Face>::InsertSlow(uint32_t hash31, uint32_t handle, bool is_newest) {
  if (empty() && !Start()) return Outcome::kOutOfMemory;
  for (;;) {
    const Root root = LoadRoot();
    const SegmentRef segment(root.EntryFor(hash31).word.load(std::memory_order_relaxed));
    if (const Slot slot = FindSlot(segment, hash31); slot.line != nullptr) return AddVersion(slot, handle, is_newest);
    uint64_t& live_count = root.FirstEntryOf(segment, hash31).live_count;
    if (live_count < MaxLiveCount(segment)) {
      const uint64_t passed_slots = Place(segment, hash31, handle + 1);
      ++live_count;
      ++key_count_;
      if (passed_slots > longest_chain_) longest_chain_ = passed_slots;
      return Outcome::kNewKey;
    }
    if (!GrowSegmentOf(hash31)) return Outcome::kOutOfMemory;
  }
}

// The slot that stands for the hash. Writer only.
template <class Face>
typename LookupIndex<Face>::Slot LookupIndex<Face>::FindSlot(const SegmentRef& segment, uint32_t hash31) {
  const uint32_t mask = segment.line_mask();
  uint32_t line_number = hash31 & mask;
  for (uint32_t passed = 0; passed <= mask; ++passed, line_number = (line_number + 1) & mask) {
    Line& line = segment.lines()[line_number];
    const IndexLine::View view = line.LookFor(hash31, std::memory_order_relaxed);
    if (view.matches != 0) return {&line, IndexLine::Lowest(view.matches)};
    if (!view.is_passed) break;
  }
  return {nullptr, 0};
}

template <class Face>
typename LookupIndex<Face>::Outcome LookupIndex<Face>::AddVersion(const Slot& slot, uint32_t handle, bool is_newest) {
  const uint32_t value = slot.line->ValueAt(slot.number, std::memory_order_relaxed);
  uint32_t list_id = value & kValueMask;
  if ((value & kIsList) == 0) {
    const uint32_t only = value - 1;
    if (!is_newest && IsDuplicate(only, handle)) return Outcome::kDuplicate;
    const std::optional<uint32_t> created = MakeVersions() ? Versions()->Create(only, handle, is_newest) : std::nullopt;
    if (!created) return Outcome::kOutOfMemory;
    list_id = *created;
  } else {
    switch (Versions()->Add(&list_id, handle, is_newest)) {
      case VersionLists<Face>::Outcome::kAdded:
        break;
      case VersionLists<Face>::Outcome::kDuplicate:
        return Outcome::kDuplicate;
      case VersionLists<Face>::Outcome::kOutOfMemory:
        return Outcome::kOutOfMemory;
    }
  }
  slot.line->SetValue(slot.number, kIsList | list_id);
  return Outcome::kNewVersion;
}

template <class Face>
bool LookupIndex<Face>::IsDuplicate(uint32_t there, uint32_t handle) const {
  const typename Face::Slot& old = *log_.At(there);
  const typename Face::Slot& entry = *log_.At(handle);
  return Face::SequenceOf(old) == Face::SequenceOf(entry) && !Face::IsDead(old) &&
         Face::HasKey(old, Face::Key(entry), Face::Prefix(entry));
}

// Puts a hash into the first free slot from its home line on and marks the lines it passes. The segment must have one.
// Returns how many slots it passed.
template <class Face>
uint64_t LookupIndex<Face>::Place(const SegmentRef& segment, uint32_t hash31, uint32_t value) {
  const uint32_t mask = segment.line_mask();
  uint64_t passed_slots = 0;
  for (uint32_t line_number = hash31 & mask;; line_number = (line_number + 1) & mask) {
    Line& line = segment.lines()[line_number];
    const IndexLine::View view = line.LookFor(hash31, std::memory_order_relaxed);
    if (view.unused != 0) {
      line.Fill(IndexLine::Lowest(view.unused), hash31, value);
      return passed_slots;
    }
    passed_slots += Line::kSlots;
    if (!view.is_passed) line.SetPassed(true);
  }
}

}  // namespace strongbin
