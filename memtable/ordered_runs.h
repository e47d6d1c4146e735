// Lazily made order over the log: sorts what was appended before the first ordered read, keeps in order what comes
// between ordered reads, and merges runs of like size.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "strongbin/memtable/common_start.h"
#include "strongbin/memtable/key_order.h"
#include "strongbin/memtable/ordered_delta.h"
#include "strongbin/memtable/ref_ptr.h"
#include "strongbin/memtable/run_maker.h"
#include "strongbin/memtable/run_set.h"
#include "strongbin/memtable/sorted_run.h"
#include "strongbin/memtable/table_report.h"
#include "strongbin/stats/cell.h"
#include "strongbin/stats/metrics.h"
#include "strongbin/stats/test_points.h"
#include "strongbin/stats/watched_locks.h"

namespace strongbin {

// Hands ordered readers a set that covers the log up to where they want to read.
//
// A table that is only written is never looked at. Many entries since the last ordered read are sorted into a run; few
// are put into the delta, one by one, by the reader who wants them, so that a scan after each write makes neither a
// sort nor a new set. A full delta becomes a run.
//
// Owns the newest set; older ones live as long as readers hold them.
// Thread safety: Cover from any thread, beside the writer; one caller makes order, the others wait for it unless what
// there is already is enough for them. The writer never waits for it. When memory is refused: Cover answers null and
// the sets are as before. Cost: for an entry a sort or an insert into a delta that fits the cache, and O(log n) moves
// by merges, each of which joins all runs from the first that is not kSizeRatio times as large as those behind it.
template <class Face>
class OrderedRuns {
 public:
  using Set = RunSet<Face>;

  OrderedRuns(ChunkSupply* supply, const typename Face::Log& log)
      : order_(log), space_{.supply = supply}, maker_(&space_, order_) {}
  ~OrderedRuns() {
    if (sorts_.Load() > 0 && stats_internal::CurrentPage() != nullptr) share_.Leave(Numbers());
  }
  OrderedRuns(const OrderedRuns&) = delete;
  OrderedRuns& operator=(const OrderedRuns&) = delete;

  // A set over the positions [first, end), and perhaps more. Requires first < end, and `first` to be the same in all
  // calls. (A reader that needs no runs must not be given those of others: the base that it sees may since have been
  // sealed and be in them.)
  RefPtr<const Set> Cover(uint64_t first, uint64_t end) {
    if (RefPtr<const Set> current = Current(); current && current->Covers(end)) return current;
    const std::lock_guard sorting(sort_mutex_);
    RefPtr<const Set> current = Current();
    if (current && current->Covers(end)) return current;
    const uint64_t from = current ? std::max(covered(*current), first) : first;
    if (current && AddToDelta(*current, from, end)) {
      if (delta_inserts_.Load() >= share_.due()) Report();
      return current;
    }
    RefPtr<const Set> extended = Extend(current, from, end);
    if (!extended) return extended;
    {
      const std::lock_guard publishing(set_mutex_);
      current_ = extended;
    }
    Report();
    return extended;
  }

  // Positions below it are in order; 0 before the first ordered read.
  uint64_t covered() const {
    const RefPtr<const Set> current = Current();
    return current ? covered(*current) : 0;
  }

  size_t reserved_bytes() const { return space_.reserved_bytes.load(std::memory_order_relaxed); }
  size_t used_bytes() const {
    const RefPtr<const Set> current = Current();
    if (!current) return 0;
    size_t bytes = current->delta ? current->delta->used_bytes() : 0;
    for (size_t i = 0; i < current->count; ++i) bytes += current->runs[i]->size() * sizeof(RunRecord);
    return bytes;
  }
  // Adds what was done to make order, and what there is now. Any thread.
  void AddTo(TableStats* stats) const {
    SetKindBytes(stats, ChunkKind::k_run, used_bytes(), reserved_bytes(), 0);
    maker_.AddTo(stats);
    stats->sorts += sorts_.Load();
    stats->delta_inserts += delta_inserts_.Load();
    stats->delta_seals += delta_seals_.Load();
    const RefPtr<const Set> current = Current();
    stats->runs = current ? current->count : 0;
    stats->delta_entries = current && current->delta ? current->delta->size() : 0;
  }
  // Brings the statistics page up to date; who makes order at this moment will do so itself. Any thread.
  void ReportUnlessSorting() {
    const std::unique_lock sorting(sort_mutex_, std::try_to_lock);
    if (sorting) Report();
  }
  // From now on runs that are let go of give their chunks to the operating system.
  void MakeCold() { space_.cold.store(true, std::memory_order_relaxed); }

 private:
  // Entries that are sorted at once; bounds the scratch.
  static constexpr uint64_t kStretch = uint64_t{4} << 20;
  // Fewer keys do not tell what all keys of the table begin with.
  static constexpr uint64_t kMinCommonSample = 64;
  // From this many new entries on a sort and a merge cost less than as many inserts.
  static constexpr uint64_t kMaxDeltaStep = 256;
  // A delta that fits a part of the second-level cache, and is a small part of the table.
  static constexpr size_t kMaxDeltaBytes = size_t{256} << 10;
  static constexpr uint64_t kTableToDelta = 8;

  // The runs of a growing set while it is put together.
  struct Draft {
    std::array<RefPtr<const SortedRun>, RunMaker<Face>::kMaxSources> runs;
    size_t count = 0;
  };

  // Relaxed: whoever asks has sort_mutex_ or wants a number to look at.
  static uint64_t covered(const Set& set) { return set.covered.load(std::memory_order_relaxed); }

  TableStats Numbers() const {
    TableStats stats;
    AddTo(&stats);
    return stats;
  }
  // Brings the statistics page up to date. Under sort_mutex_.
  void Report() {
    if (stats_internal::CurrentPage() == nullptr) return;
    share_.Publish(Numbers(), delta_inserts_.Load() + TableReport::kStep);
  }

  RefPtr<const Set> Current() const {
    const std::lock_guard lock(set_mutex_);
    return current_;
  }

  // False if there is no delta that could take the entries [from, end).
  bool AddToDelta(const Set& set, uint64_t from, uint64_t end) {
    OrderedDelta<Face>* delta = set.delta.get();
    if (delta == nullptr || end - from > kMaxDeltaStep || !delta->HasRoomFor(end - from)) return false;
    if (delta->skip_bytes() > 0 && NarrowCommon(from, end) < delta->skip_bytes()) return false;
    InsertAll(delta, from, end);
    YieldPoint(YieldAt::k_delta_filled);
    set.covered.store(end, std::memory_order_release);
    return true;
  }
  void InsertAll(OrderedDelta<Face>* delta, uint64_t from, uint64_t end) {
    typename Face::Log::Walk walk(from);
    for (uint64_t position = from; position < end; ++position) {
      const auto& slot = *walk.Next(order_.log());
      if (!Face::IsDead(slot)) delta->Insert(position, walk.handle(), slot);
    }
    delta_inserts_.Add(end - from);
  }

  RefPtr<const Set> Extend(const RefPtr<const Set>& current, uint64_t from, uint64_t end) {
    Draft draft;
    RefPtr<OrderedDelta<Face>> delta;
    for (size_t i = 0; current && i < current->count; ++i) draft.runs[draft.count++] = current->runs[i];
    if (current) delta = current->delta;
    bool is_covered = from == end;
    if (current && end - from <= kMaxDeltaStep) {
      if (delta && !Seal(*delta, &draft)) return {};
      delta = MakeDelta(from, end);
      if (delta) InsertAll(delta.get(), from, end);
      is_covered = static_cast<bool>(delta);
    }
    if (!is_covered && !Sort(from, end, &draft)) return {};
    RefPtr<Set> set = RefPtr<Set>::Adopt(new (std::nothrow) Set);
    if (!set) return {};
    for (size_t i = 0; i < draft.count; ++i) set->runs[i] = draft.runs[i];
    set->count = draft.count;
    set->delta = std::move(delta);
    set->covered.store(end, std::memory_order_relaxed);
    return set;
  }

  RefPtr<OrderedDelta<Face>> MakeDelta(uint64_t from, uint64_t end) {
    const size_t wanted = OrderedDelta<Face>::BytesFor(std::max(from / kTableToDelta, end - from));
    const size_t least = OrderedDelta<Face>::BytesFor(end - from);
    return OrderedDelta<Face>::Make(&space_, order_, NarrowCommon(from, end),
                                    std::clamp(wanted, least, std::max(least, kMaxDeltaBytes)));
  }
  bool Seal(const OrderedDelta<Face>& delta, Draft* draft) {
    if (delta.size() == 0) return true;
    if (!common_.known() && delta.size() >= kMinCommonSample) {
      // What the first and the last share, all between them do.
      const auto none = OrderedDelta<Face>::kNone;
      common_.Learn(delta.KeyAt(delta.Next(none)));
      common_.Narrow(delta.KeyAt(delta.Previous(none)));
    }
    delta_seals_.Add(1);
    return Push(maker_.Seal(delta), Set::kSizeRatio, draft);
  }

  // Sorts the entries [from, end) into runs, in stretches of like size.
  bool Sort(uint64_t from, uint64_t end, Draft* draft) {
    sorts_.Add(1);
    if (!common_.known() && end - from >= kMinCommonSample) GuessCommon(from, end);
    uint64_t stretch = (end - from + kStretch - 1) / kStretch;
    stretch = (end - from + stretch - 1) / stretch;
    while (from < end) {
      RefPtr<const SortedRun> run = maker_.Sort(from, std::min(end, from + stretch), &common_);
      if (!run && stretch > SortedRun::kChunkRecords) {
        // There may still be memory for a stretch that needs no scratch.
        stretch = SortedRun::kChunkRecords;
        continue;
      }
      from = std::min(end, from + stretch);
      if (!Push(run, from < end ? kRatioWhileSorting : Set::kSizeRatio, draft)) return false;
    }
    return true;
  }

  // What some keys of a tail begin with, which the sort of it will narrow where others do not.
  void GuessCommon(uint64_t from, uint64_t end) {
    const auto key_at = [&](uint64_t position) { return Face::Key(order_.At(order_.log().HandleAt(position))); };
    common_.Learn(key_at(from));
    for (uint64_t i = 1; i < kMinCommonSample; ++i)
      common_.Narrow(key_at(from + (end - 1 - from) * i / kMinCommonSample));
  }
  // Takes in the keys of [from, end), and says how many bytes they share with all keys of the set.
  size_t NarrowCommon(uint64_t from, uint64_t end) {
    typename Face::Log::Walk walk(from);
    for (uint64_t position = from; position < end && common_.bytes() > 0; ++position) {
      const std::string_view key = Face::Key(*walk.Next(order_.log()));
      if (!common_.Begins(key)) common_.Narrow(key);
    }
    return common_.bytes();
  }

  // Puts a run behind those of the draft and merges all from the first that is less than `ratio` times as large as all
  // behind it. False if there is no run, or no memory for the merged one.
  bool Push(const RefPtr<const SortedRun>& run, uint64_t ratio, Draft* draft) {
    if (!run) return false;
    if (run->size() == 0) return true;
    draft->runs[draft->count++] = run;
    uint64_t behind = 0;
    size_t first = draft->count - 1;
    for (size_t i = draft->count; i-- > 0;) {
      if (draft->runs[i]->size() < ratio * behind) first = i;
      behind += draft->runs[i]->size();
    }
    if (first == draft->count - 1) return true;
    RefPtr<const SortedRun> merged = maker_.Merge(std::span(draft->runs).subspan(first, draft->count - first));
    if (!merged) return false;
    while (draft->count > first) draft->runs[--draft->count] = {};
    draft->runs[draft->count++] = std::move(merged);
    return true;
  }

  // While more stretches follow: fewer moves, and no more than 16 runs above those of a set.
  static constexpr uint64_t kRatioWhileSorting = 2;

  const KeyOrder<Face> order_;
  RunSpace space_;

  // Changed under sort_mutex_. Here and not with the table, since an iterator may sort after the table's end.
  RunMaker<Face> maker_;
  Cell sorts_;
  Cell delta_inserts_;
  Cell delta_seals_;

  // Held while making order; taken before set_mutex_.
  WatchedMutex<WatchedLock::k_order> sort_mutex_;
  CommonStart common_;                             // sort_mutex_; of all keys in order
  stats_internal::PageShare<TableMetrics> share_;  // sort_mutex_

  mutable WatchedMutex<WatchedLock::k_run_set> set_mutex_;  // held for a pointer copy
  RefPtr<const Set> current_;
};

}  // namespace strongbin
