// A small ordered set of entries that grows in place, for what is written between ordered reads.
#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "strongbin/memtable/key_order.h"
#include "strongbin/memtable/ref_ptr.h"
#include "strongbin/memtable/skip_levels.h"
#include "strongbin/memtable/sorted_run.h"
#include "strongbin/stats/cell.h"

namespace strongbin {

// A skip list of run records in one chunk. Idea: W. Pugh's skip list; nodes named by their offset in the chunk, so that
// a link takes four bytes.
//
// Owns its chunk; borrows the log.
// Thread safety: one thread at a time inserts; any number read beside it. A reader says how many entries of the log it
// looks at and is shown no later ones, so what it walks over does not change under it.
// Invariants: nodes never move or leave; a node is linked from the bottom up, each link stored with release after the
// node is whole. When memory is refused: Make answers null. Cost: O(log n) for Insert, LowerBound and Previous, O(1)
// for Next; some 28 bytes an entry.
template <class Face>
class OrderedDelta : public RefCounted<OrderedDelta<Face>> {
 public:
  using Slot = typename Face::Slot;
  // Where a node lies; kNone is before the first one and behind the last.
  using Place = uint32_t;
  static constexpr Place kNone = 0;
  static constexpr uint64_t kEverything = ~uint64_t{0};

  // `skip_bytes`: what all keys that will be inserted begin with, as in SortedRun.
  static RefPtr<OrderedDelta> Make(RunSpace* space, const KeyOrder<Face>& order, size_t skip_bytes, size_t bytes) {
    auto delta = RefPtr<OrderedDelta>::Adopt(new (std::nothrow) OrderedDelta(space, order, skip_bytes));
    return delta && delta->TakeChunk(bytes) ? delta : RefPtr<OrderedDelta>();
  }

  size_t skip_bytes() const { return skip_bytes_; }

  // ---- Writer ----

  // Chunk bytes that are surely enough for `count` entries.
  static size_t BytesFor(uint64_t count) { return (count + 1) * NodeBytes(kMaxLevels); }
  bool HasRoomFor(uint64_t count) const { return used_bytes() + count * NodeBytes(kMaxLevels) <= room_bytes_; }
  // The entry at `position` of the log. Requires room, a key that begins with what is skipped, and that no entry with
  // the same key and sequence is here.
  void Insert(uint64_t position, uint32_t handle, const Slot& slot);

  // Any thread.
  uint64_t size() const { return size_.Load(); }
  size_t used_bytes() const { return used_bytes_.Load(); }
  std::string_view KeyAt(Place place) const { return Face::Key(order_.At(RecordAt(place).handle())); }

  // ---- Readers: they see the entries below `end` of the log ----

  uint32_t HandleAt(Place place) const { return At(place).record.handle(); }
  const RunRecord& RecordAt(Place place) const { return At(place).record; }
  // After kNone: the first.
  Place Next(Place place, uint64_t end = kEverything) const {
    do {
      place = Link(place, 0);
    } while (place != kNone && At(place).position >= end);
    return place;
  }
  // Before kNone: the last.
  Place Previous(Place place, uint64_t end = kEverything) const {
    do {
      if (place == kNone) {
        place = LastBefore([](Place) { return true; });
      } else {
        const Node& node = At(place);
        place = LastBefore([&](Place other) { return Compare(At(other).record, node.record) < 0; });
      }
    } while (place != kNone && At(place).position >= end);
    return place;
  }
  // The first at or behind `target`, which begins with what is skipped.
  Place LowerBound(const SeekTarget& target, uint64_t end) const {
    const RunRecord wanted = KeyOrder<Face>::MakeRecord(target.key, 0, skip_bytes_);
    const Place before = LastBefore([&](Place place) {
      const RunRecord& record = At(place).record;
      if (record.key_bits() != wanted.key_bits()) [[likely]]
        return record.key_bits() < wanted.key_bits();
      return order_.Compare(order_.At(record.handle()), target) < 0;
    });
    return Next(before, end);
  }

 private:
  friend class RefCounted<OrderedDelta>;

  // 4^8 entries; more only make it slower.
  static constexpr uint32_t kMaxLevels = 8;

  using AtomicLink = std::atomic<Place>;
  // The links of the upper levels lie behind it.
  struct Node {
    RunRecord record;
    uint32_t position;
    AtomicLink lowest;
  };

  static size_t NodeBytes(uint32_t levels) {
    constexpr size_t kAlign = alignof(Node) - 1;
    return (offsetof(Node, lowest) + levels * sizeof(AtomicLink) + kAlign) & ~kAlign;
  }

  OrderedDelta(RunSpace* space, const KeyOrder<Face>& order, size_t skip_bytes)
      : order_(order), skip_bytes_(skip_bytes), memory_(space) {}
  ~OrderedDelta() = default;

  bool TakeChunk(size_t bytes) {
    base_ = memory_.Add(bytes);
    if (base_ == nullptr) return false;
    room_bytes_ = memory_.reserved_bytes();
    NewNode(kMaxLevels);  // the head, at kNone, of which only the links are used
    return true;
  }
  Place NewNode(uint32_t levels) {
    const auto place = static_cast<Place>(used_bytes());
    used_bytes_.Add(NodeBytes(levels));
    for (uint32_t level = 0; level < levels; ++level) new (&LinkAt(place, level)) AtomicLink(kNone);
    return place;
  }

  Node& At(Place place) const { return *reinterpret_cast<Node*>(base_ + place); }
  AtomicLink& LinkAt(Place place, uint32_t level) const {
    return reinterpret_cast<AtomicLink*>(base_ + place + offsetof(Node, lowest))[level];
  }
  // Acquire: pairs with the release in Insert; the node that is led to is whole.
  Place Link(Place place, uint32_t level) const { return LinkAt(place, level).load(std::memory_order_acquire); }

  int Compare(const RunRecord& a, const RunRecord& b) const {
    if (a.key_bits() != b.key_bits()) [[likely]]
      return a.key_bits() < b.key_bits() ? -1 : 1;
    return order_.Compare(order_.At(a.handle()), order_.At(b.handle()));
  }

  // The last node that `is_before` what is looked for; `path`, if not null, gets it for each level.
  template <class IsBefore>
  Place LastBefore(IsBefore&& is_before, std::array<Place, kMaxLevels>* path = nullptr) const {
    Place place = kNone;
    for (uint32_t level = kMaxLevels; level-- > 0;) {
      for (Place next; (next = Link(place, level)) != kNone && is_before(next);) place = next;
      if (path != nullptr) (*path)[level] = place;
    }
    return place;
  }

  const KeyOrder<Face> order_;
  const size_t skip_bytes_;
  RunMemory memory_;
  char* base_ = nullptr;
  size_t room_bytes_ = 0;
  Cell used_bytes_;
  Cell size_;
};

template <class Face>
void OrderedDelta<Face>::Insert(uint64_t position, uint32_t handle, const Slot& slot) {
  assert(HasRoomFor(1));
  const RunRecord record = order_.MakeRecord(slot, handle, skip_bytes_);
  std::array<Place, kMaxLevels> path;
  LastBefore([&](Place place) { return Compare(At(place).record, record) < 0; }, &path);
  const uint32_t levels = SkipLevels(handle, kMaxLevels);
  const Place place = NewNode(levels);
  At(place).record = record;
  At(place).position = static_cast<uint32_t>(position);
  // Relaxed: the node is not linked yet.
  for (uint32_t level = 0; level < levels; ++level) {
    LinkAt(place, level).store(Link(path[level], level), std::memory_order_relaxed);
  }
  // Release: pairs with Link.
  for (uint32_t level = 0; level < levels; ++level) {
    LinkAt(path[level], level).store(place, std::memory_order_release);
  }
  size_.Add(1);
}

}  // namespace strongbin
