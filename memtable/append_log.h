// A numbered, append-only sequence of equal slots in pool chunks.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>

#include "strongbin/memtable/chunk_owner.h"
#include "strongbin/pool/size_class.h"
#include "strongbin/stats/test_points.h"

namespace strongbin {

template <class Slot>
class LogWalk;

// Slots are numbered from 0 and never move. Segments are whole chunks: kSegmentsPerClass of each class from 2 KiB up,
// then 1 MiB for ever, so that a new one is about an eighth of what is held, and a number finds its segment by
// arithmetic.
//
// Owns its chunks. An empty log holds none.
// Thread safety: one writer at a time (EnsureRoom, At for unpublished numbers, Publish, Drop); readers beside it may
// read size() and any slot below a size() they have seen, or whose number reached them through a release/acquire pair.
// Lifetime: slots stay in place until Drop or the destructor.
// When memory is refused: EnsureRoom answers false; what was there stays.
// Cost: Locate is some ten instructions and one load from a table that stays in the cache.
template <class T>
class AppendLog {
  static_assert(std::has_single_bit(sizeof(T)) && sizeof(T) <= 64);

 public:
  using Slot = T;
  using Walk = LogWalk<Slot>;

  // Slot numbers fit 31 bits, so that an index slot has a bit to spare.
  static constexpr uint64_t kMaxSlots = (uint64_t{1} << 31) - 2;

  AppendLog(ChunkSupply* supply, ChunkKind kind) : chunks_(supply, kind) {}

  // Acquire: slots below the size are seen as they were published.
  uint64_t size() const {
    if (Mutated(Mutation::k_missing_acquire_on_publication)) return size_.load(std::memory_order_relaxed);
    return size_.load(std::memory_order_acquire);
  }

  // What indexes and runs keep to name an entry. Here it is the number itself; the log of the other face has other
  // names.
  static uint32_t HandleAt(uint64_t number) { return static_cast<uint32_t>(number); }

  // The slot with this number; its segment must exist.
  [[gnu::always_inline]] Slot* At(uint64_t number) const {
    const Place place = Locate(number);
    return SegmentBase(place.segment) + place.offset;
  }
  // How many slots from `number` on lie behind each other in memory.
  static uint64_t ContiguousFrom(uint64_t number) {
    const Place place = Locate(number);
    return place.slots - place.offset;
  }

  // Makes room for `count` slots from size() on.
  [[nodiscard]] bool EnsureRoom(uint64_t count) {
    const uint64_t wanted = size_.load(std::memory_order_relaxed) + count;
    return wanted <= room_ || AddSegments(wanted);
  }
  uint64_t room() const { return room_; }

  // The writer makes the next `count` slots part of the log.
  void Publish(uint64_t count) {
    YieldPoint(YieldAt::k_before_publish);
    // Release: pairs with size(). The writer alone stores, so its own load may be relaxed.
    size_.store(size_.load(std::memory_order_relaxed) + count, std::memory_order_release);
    YieldPoint(YieldAt::k_after_publish);
  }
  uint64_t writer_size() const { return size_.load(std::memory_order_relaxed); }

  size_t reserved_bytes() const { return chunks_.reserved_bytes(); }
  // What EnsureRoom(count) will take from the pool. Writer only.
  uint64_t GrowthBytes(uint64_t count) const {
    uint64_t bytes = 0;
    uint64_t segment = segment_count_;
    for (uint64_t room = room_; room < size_.load(std::memory_order_relaxed) + count; ++segment) {
      if (segment >= kInlineSegments && LocatePage(segment).offset == 0) {
        bytes += LocatePage(segment).segments * sizeof(std::atomic<Slot*>);
      }
      bytes += SegmentBytes(segment);
      room += SegmentBytes(segment) / sizeof(Slot);
    }
    return bytes;
  }

  void Drop() { chunks_.Drop(); }  // for the end only: the log may not be used afterwards

 private:
  static constexpr uint64_t kSegmentsPerClass = 8;
  static constexpr uint64_t kFirstSlots = kMinChunkBytes / sizeof(Slot);
  static constexpr uint64_t kLastGroup = kSizeClassCount - 1;
  static constexpr uint64_t kInlineSegments = kSegmentsPerClass * kLastGroup;
  static constexpr uint64_t kInlineSlots = kSegmentsPerClass * kFirstSlots * ((uint64_t{1} << kLastGroup) - 1);
  // Segments of the largest class are found through pages of 256, 512, ... pointers.
  static constexpr uint64_t kFirstPageSegments = kMinChunkBytes / sizeof(void*);
  static constexpr size_t kPageCount = kSizeClassCount;

  static constexpr int kFirstSlotBits = static_cast<int>(std::bit_width(kFirstSlots)) - 1;

  struct Place {
    uint64_t segment;
    uint64_t offset;
    uint64_t slots;  // of the segment
  };

  static Place Locate(uint64_t number) {
    if (number < kInlineSlots) {
      const uint64_t block = number / (kSegmentsPerClass * kFirstSlots) + 1;
      assert(block > 0);
      const int group = static_cast<int>(std::bit_width(block)) - 1;
      const uint64_t first = kSegmentsPerClass * kFirstSlots * ((uint64_t{1} << group) - 1);
      const uint64_t slots = kFirstSlots << group;
      const uint64_t within = number - first;
      const uint64_t segment = static_cast<uint64_t>(group) * kSegmentsPerClass + (within >> (kFirstSlotBits + group));
      return {segment, within & (slots - 1), slots};
    }
    constexpr uint64_t kSlots = kFirstSlots << kLastGroup;
    const uint64_t within = number - kInlineSlots;
    return {kInlineSegments + within / kSlots, within % kSlots, kSlots};
  }

  static size_t SegmentBytes(uint64_t segment) { return ClassBytes(std::min(segment / kSegmentsPerClass, kLastGroup)); }

  struct PagePlace {
    size_t page;
    uint64_t offset;
    uint64_t segments;  // of the page
  };
  static PagePlace LocatePage(uint64_t segment) {
    const uint64_t block = (segment - kInlineSegments) / kFirstPageSegments + 1;
    assert(block > 0);
    const auto page = static_cast<size_t>(std::bit_width(block)) - 1;
    return {page, (segment - kInlineSegments) - kFirstPageSegments * ((uint64_t{1} << page) - 1),
            kFirstPageSegments << page};
  }

  // Relaxed loads: whoever knows a number got it through an acquire that covers the pointers stored before it was
  // published.
  Slot* SegmentBase(uint64_t segment) const {
    if (segment < kInlineSegments) return inline_segments_[segment].load(std::memory_order_relaxed);
    const PagePlace place = LocatePage(segment);
    return pages_[place.page].load(std::memory_order_relaxed)[place.offset].load(std::memory_order_relaxed);
  }

  [[gnu::noinline]] bool AddSegments(uint64_t wanted) {
    while (room_ < wanted) {
      if (!AddSegment()) return false;
    }
    return true;
  }

  bool AddSegment() {
    if (room_ > kMaxSlots) return false;
    std::atomic<Slot*>* home;
    if (segment_count_ < kInlineSegments) {
      home = &inline_segments_[segment_count_];
    } else {
      const PagePlace place = LocatePage(segment_count_);
      auto* page = pages_[place.page].load(std::memory_order_relaxed);
      if (page == nullptr) {
        char* bytes = chunks_.Add(place.segments * sizeof(std::atomic<Slot*>));
        if (bytes == nullptr) return false;
        page = new (bytes) std::atomic<Slot*>[place.segments] {};
        pages_[place.page].store(page, std::memory_order_relaxed);
      }
      home = &page[place.offset];
    }
    const size_t bytes = SegmentBytes(segment_count_);
    char* segment = chunks_.Add(bytes);
    if (segment == nullptr) return false;
    home->store(reinterpret_cast<Slot*>(segment), std::memory_order_relaxed);
    ++segment_count_;
    room_ += bytes / sizeof(Slot);
    return true;
  }

  std::atomic<uint64_t> size_{0};
  uint64_t room_ = 0;           // writer only
  uint64_t segment_count_ = 0;  // writer only
  std::atomic<std::atomic<Slot*>*> pages_[kPageCount] = {};
  std::atomic<Slot*> inline_segments_[kInlineSegments] = {};
  ChunkOwner chunks_;
};

// The slots of a log one by one, without finding the segment each time.
//
// A plain value: a copy is a place to come back to. Slots that it walks over must have room in the log.
template <class Slot>
class LogWalk {
 public:
  explicit LogWalk(uint64_t first = 0) : number_(first) {}

  Slot* Next(const AppendLog<Slot>& log) {
    if (left_ == 0) [[unlikely]] {
      slot_ = log.At(number_);
      left_ = AppendLog<Slot>::ContiguousFrom(number_);
    }
    --left_;
    ++number_;
    return slot_++;
  }
  // Of the slot that Next has returned.
  uint32_t handle() const { return AppendLog<Slot>::HandleAt(number_ - 1); }

 private:
  uint64_t number_;
  uint64_t left_ = 0;
  Slot* slot_ = nullptr;
};

}  // namespace strongbin
