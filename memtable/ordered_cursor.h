// Walks all entries of a table in order: the ascending base, the sorted runs and the delta, merged on the fly.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "strongbin/memtable/key_order.h"
#include "strongbin/memtable/loser_tree.h"
#include "strongbin/memtable/ordered_delta.h"
#include "strongbin/memtable/ref_ptr.h"
#include "strongbin/memtable/run_set.h"
#include "strongbin/memtable/sorted_run.h"

namespace strongbin {

// Every version of every key, dead entries excepted, both directions.
//
// Shares the set; borrows the log, which must outlive it. One thread at a time.
// Invariant: forwards, each source stands at its first entry not before the current one, backwards at its last not
// behind it; so a change of direction moves each source by one and searches none. Cost: a seek is a binary search in
// each source; a step compares log2(sources) heads. (Backwards, a step in the delta is a search in it.)
template <class Face>
class OrderedCursor {
 public:
  using Slot = typename Face::Slot;
  using Set = RunSet<Face>;

  explicit OrderedCursor(const typename Face::Log& log) : order_(log) {}

  // Looks at the base [0, base_count) and at what `set`, which may be null, has of the log below `end`. Not positioned.
  void SetSources(uint64_t base_count, uint64_t end, RefPtr<const Set> set) {
    end_ = end;
    if (set.get() == set_.get() && base_count == base_count_) return;
    set_ = std::move(set);
    base_count_ = base_count;
    count_ = 0;
    if (base_count > 0) AddSource(nullptr, nullptr, base_count);
    for (size_t i = 0; set_ && i < set_->count; ++i) {
      AddSource(set_->runs[i].get(), nullptr, set_->runs[i]->size());
    }
    if (set_ && set_->delta) AddSource(nullptr, set_->delta.get(), 0);
  }

  bool Valid() const { return count_ > 0 && !Head().ended(); }
  const Slot& slot() const { return *Head().slot; }
  uint32_t handle() const { return HandleAt(Head(), Head().index); }

  void SeekToFirst() {
    for (uint32_t i = 0; i < count_; ++i) GoTo(sources_[i], /*forward=*/true);
    Start(/*forward=*/true);
  }
  void SeekToLast() {
    for (uint32_t i = 0; i < count_; ++i) GoTo(sources_[i], /*forward=*/false);
    Start(/*forward=*/false);
  }
  // The first entry at or behind `target`.
  void Seek(const SeekTarget& target) {
    for (uint32_t i = 0; i < count_; ++i) sources_[i].index = LowerBound(sources_[i], target);
    Start(/*forward=*/true);
  }
  // The last entry before `target`.
  void SeekBefore(const SeekTarget& target) {
    for (uint32_t i = 0; i < count_; ++i) {
      sources_[i].index = LowerBound(sources_[i], target);
      Move(sources_[i], /*forward=*/false);
    }
    Start(/*forward=*/false);
  }

  // How many entries come before `target`. Does not move.
  uint64_t CountBefore(const SeekTarget& target) const {
    uint64_t count = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      const uint64_t bound = LowerBound(sources_[i], target);
      count += sources_[i].delta == nullptr ? bound : CountBefore(*sources_[i].delta, static_cast<Place>(bound));
    }
    return count;
  }

  void Next() { Step(/*forward=*/true); }   // requires Valid()
  void Prev() { Step(/*forward=*/false); }  // requires Valid()
  // After Next or Prev: whether the key is certainly not the one before. Reads no key.
  bool key_has_changed() const { return key_has_changed_; }

 private:
  // Entries whose memory is woken together, when walking on: their cache misses, and the translations of their
  // addresses, then overlap. (A window that rolls along with the walk lost a third to blocks in scans.)
  // The first sources are by far the largest: most steps are theirs, so they get most of the room.
  static constexpr uint32_t kLargeBlocks = 2;
  static constexpr uint64_t kLargeBlock = 64;
  static constexpr uint64_t kSmallBlock = 16;
  static constexpr uint64_t kFirstBlock = 4;
  // Of a range of records to search, every other line is asked for at once: the search jumps.
  static constexpr uint64_t kMaxWokenRange = 256;
  static constexpr uint64_t kLineRecords = 64 / sizeof(RunRecord);

  using Delta = OrderedDelta<Face>;
  using Place = typename Delta::Place;

  struct Source {
    // One of them, or none: the base, where the index is the position.
    const SortedRun* run = nullptr;
    const Delta* delta = nullptr;
    uint64_t size = 0;
    uint64_t index = 0;          // in the delta: the place
    RunRecord record = {};       // the head's, if not ended; of the base only if there is another source
    const Slot* slot = nullptr;  // the head's, if not ended
    // In a run: the slots of a block of entries, in the direction of the walk, and the index of the first.
    uint64_t block_index = 0;
    uint64_t block_size = 0;
    const Slot** block = nullptr;
    uint64_t block_room = 0;

    bool ended() const { return delta == nullptr ? index >= size : index == Delta::kNone; }
    size_t skip_bytes() const {
      return run != nullptr ? run->skip_bytes() : delta != nullptr ? delta->skip_bytes() : 0;
    }
  };

  void AddSource(const SortedRun* run, const Delta* delta, uint64_t size) {
    const uint32_t i = count_++;
    const bool is_large = i < kLargeBlocks;
    const uint64_t first = is_large ? i * kLargeBlock : kLargeBlocks * kLargeBlock + (i - kLargeBlocks) * kSmallBlock;
    sources_[i] = Source{.run = run,
                         .delta = delta,
                         .size = size,
                         .block = blocks_.data() + first,
                         .block_room = is_large ? kLargeBlock : kSmallBlock};
  }
  const Source& Head() const { return sources_[tree_.winner()]; }

  uint32_t HandleAt(const Source& source, uint64_t index) const {
    if (source.run != nullptr) return source.run->At(index).handle();
    if (source.delta != nullptr) return source.delta->HandleAt(static_cast<Place>(index));
    return order_.log().HandleAt(index);
  }

  // To the first or the last entry.
  void GoTo(Source& source, bool forward) const {
    if (source.delta != nullptr) {
      source.index = Delta::kNone;
      Move(source, forward);
    } else {
      source.index = forward ? 0 : source.size - 1;
    }
  }
  // By one. What has ended on one side comes back from there: an index wraps, the delta is a ring.
  void Move(Source& source, bool forward) const {
    if (source.delta != nullptr) {
      const auto place = static_cast<Place>(source.index);
      source.index = forward ? source.delta->Next(place, end_) : source.delta->Previous(place, end_);
    } else {
      source.index += forward ? uint64_t{1} : ~uint64_t{0};
    }
  }

  void Load(Source& source) const {
    if (source.ended()) return;
    if (source.delta != nullptr) {
      source.record = source.delta->RecordAt(static_cast<Place>(source.index));
      source.slot = &order_.At(source.record.handle());
      return;
    }
    if (source.run == nullptr) {
      // The base lies in the order in which it is walked, which the processor sees by itself.
      const uint32_t handle = order_.log().HandleAt(source.index);
      source.slot = &order_.At(handle);
      if (count_ > 1) source.record = order_.MakeRecord(*source.slot, handle, 0);
      return;
    }
    uint64_t offset = forward_ ? source.index - source.block_index : source.block_index - source.index;
    if (offset >= source.block_size) {
      WakeSlots(source);
      WakeBytes(source);
      offset = 0;
    }
    source.slot = source.block[offset];
    source.record = source.run->At(source.index);
  }
  // Bring the head and entries that the walk will come to into the cache: first all slots, then what they lead to.
  // Blocks grow as the walk goes on, so that a short one wakes little in vain.
  void WakeSlots(Source& source) const {
    const uint64_t left = forward_ ? source.size - source.index : source.index + 1;
    source.block_index = source.index;
    source.block_size = std::min({source.block_room, kFirstBlock + 2 * source.block_size, left});
    for (uint64_t i = 0; i < source.block_size; ++i) {
      source.block[i] = &order_.At(source.run->At(forward_ ? source.index + i : source.index - i).handle());
      Face::WakeForReader(source.block[i]);
    }
  }
  static void WakeBytes(const Source& source) {
    for (uint64_t i = 0; i < source.block_size; ++i) Face::WakeBytes(*source.block[i]);
  }

  int CompareHeads(const Source& a, const Source& b) const {
    if (a.skip_bytes() == b.skip_bytes() && a.record.key_bits() != b.record.key_bits()) {
      return a.record.key_bits() < b.record.key_bits() ? -1 : 1;
    }
    return order_.Compare(*a.slot, *b.slot);
  }
  bool ComesFirst(uint32_t a, uint32_t b) const {
    if (sources_[a].ended()) return false;
    if (sources_[b].ended()) return true;
    const int order = CompareHeads(sources_[a], sources_[b]);
    return forward_ ? order < 0 : order > 0;
  }

  void Start(bool forward) {
    forward_ = forward;
    if (count_ == 0) return;
    // All sources' slots are on their way before any of them is looked at.
    for (uint32_t i = 0; i < count_; ++i) {
      sources_[i].block_size = 0;
      if (sources_[i].run != nullptr && !sources_[i].ended()) WakeSlots(sources_[i]);
    }
    for (uint32_t i = 0; i < count_; ++i) {
      WakeBytes(sources_[i]);
      Load(sources_[i]);
    }
    tree_.Build(count_, [this](uint32_t a, uint32_t b) { return ComesFirst(a, b); });
  }

  void Step(bool forward) {
    key_has_changed_ = false;
    if (forward != forward_) {
      // The others go to the other side of the current entry, and its own source on.
      for (uint32_t i = 0; i < count_; ++i) Move(sources_[i], forward);
      Start(forward);
      return;
    }
    Source& head = sources_[tree_.winner()];
    const RunRecord passed = head.record;
    const size_t passed_skip = head.skip_bytes();
    Move(head, forward);
    Load(head);
    tree_.Replay([this](uint32_t a, uint32_t b) { return ComesFirst(a, b); });
    // (Where the base is the only source its records are not made and all alike.)
    key_has_changed_ = Head().skip_bytes() == passed_skip && Head().record.key_bits() != passed.key_bits();
  }

  // The index of the first entry of the source at or behind `target`.
  uint64_t LowerBound(const Source& source, const SeekTarget& target) const {
    const size_t skip = source.skip_bytes();
    if (skip > 0) {
      // All keys of the source begin with the same bytes; a target that does not lies outside it.
      const uint64_t first = source.delta != nullptr ? source.delta->Next(Delta::kNone) : 0;
      // All that came for the delta may have been dead.
      if (source.delta != nullptr && first == Delta::kNone) return Delta::kNone;
      const std::string_view common = Face::Key(order_.At(HandleAt(source, first))).substr(0, skip);
      const int side = CompareKeys(common, target.key.substr(0, std::min(skip, target.key.size())));
      if (side < 0) return source.delta != nullptr ? Delta::kNone : source.size;
      if (side > 0) return source.delta != nullptr ? source.delta->Next(Delta::kNone, end_) : 0;
    }
    if (source.delta != nullptr) return source.delta->LowerBound(target, end_);
    if (source.run == nullptr) return order_.LowerBoundInLog(source.size, target);
    const uint64_t prefix = order_.MakeRecord(target.key, 0, skip).prefix;
    const auto [low, high] = source.run->RangeOf(prefix);
    for (uint64_t index = low; high - low <= kMaxWokenRange && index < high; index += kLineRecords * 2) {
      __builtin_prefetch(&source.run->At(index));
    }
    return order_.LowerBound(low, high, skip, target,
                             [&](uint64_t index, const RunRecord&) { return source.run->At(index); });
  }

  // How many entries of the delta come before a place of it, or are there if it has ended.
  uint64_t CountBefore(const Delta& delta, Place end) const {
    uint64_t count = 0;
    for (Place place = delta.Next(Delta::kNone, end_); place != end; place = delta.Next(place, end_)) ++count;
    return count;
  }

  // Base, runs, delta.
  static constexpr size_t kMaxSources = Set::kMaxRuns + 2;

  const KeyOrder<Face> order_;
  uint64_t base_count_ = 0;
  uint64_t end_ = 0;
  RefPtr<const Set> set_;
  std::array<Source, kMaxSources> sources_;
  std::array<const Slot*, kLargeBlocks * kLargeBlock + (kMaxSources - kLargeBlocks) * kSmallBlock> blocks_;
  uint32_t count_ = 0;
  LoserTree<kMaxSources> tree_;
  bool forward_ = true;
  bool key_has_changed_ = false;
};

}  // namespace strongbin
