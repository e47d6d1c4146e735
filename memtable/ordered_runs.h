// Lazily made order over the log: sorts what was appended since the last ordered read and merges runs of like size.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include <pdqsort.h>

#include "strongbin/memtable/key_order.h"
#include "strongbin/memtable/loser_tree.h"
#include "strongbin/memtable/record_sort.h"
#include "strongbin/memtable/ref_ptr.h"
#include "strongbin/memtable/sort_scratch.h"
#include "strongbin/memtable/sorted_run.h"
#include "strongbin/stats/cell.h"
#include "strongbin/stats/metrics.h"

namespace strongbin {

// Hands ordered readers a set of runs that covers the log up to where they want to read.
//
// Owns the newest set; older ones live as long as readers hold them.
// Thread safety: Cover from any thread, beside the writer; one caller sorts, the others wait for it unless an older set
// is enough for them. The writer never waits for it. When memory is refused: Cover answers null and the sets are as
// before. Cost: entries are sorted once, 64 Ki of them or fewer in their run's own chunk, more in one contiguous
// scratch that the table keeps and counts apart; then they are moved O(log n) times by merges, each merge joining the
// new run with all runs at its end that are not at least twice as large.
template <class Face>
class OrderedRuns {
 public:
  OrderedRuns(ChunkSupply* supply, const typename Face::Log& log) : order_(log), space_{.supply = supply} {}
  OrderedRuns(const OrderedRuns&) = delete;
  OrderedRuns& operator=(const OrderedRuns&) = delete;

  // Runs over the positions [first, end). Requires first < end, and `first` to be the same in all calls. (A reader that
  // needs no runs must not be given those of others: the base that it sees may since have been sealed and be in them.)
  RefPtr<const RunSet> Cover(uint64_t first, uint64_t end) {
    if (RefPtr<const RunSet> current = Current(); IsEnough(current, end)) return current;
    const std::lock_guard<std::mutex> sorting(sort_mutex_);
    RefPtr<const RunSet> current = Current();
    if (IsEnough(current, end)) return current;
    RefPtr<const RunSet> extended = Extend(current, current ? std::max(current->covered, first) : first, end);
    if (!extended) return extended;
    const std::lock_guard<std::mutex> publishing(set_mutex_);
    current_ = extended;
    return extended;
  }

  // Positions below it need no sort; 0 before the first.
  uint64_t covered() const {
    const RefPtr<const RunSet> current = Current();
    return current ? current->covered : 0;
  }

  size_t reserved_bytes() const { return space_.reserved_bytes.load(std::memory_order_relaxed); }
  size_t used_bytes() const {
    const RefPtr<const RunSet> current = Current();
    uint64_t records = 0;
    for (size_t i = 0; current && i < current->count; ++i) records += current->runs[i]->size();
    return records * sizeof(RunRecord);
  }
  // Adds what was done to make order, and the number of runs now.
  void AddTo(TableStats* stats) const {
    stats->sorts += sorts_.Load();
    stats->sorted_entries += sorted_entries_.Load();
    stats->merges += merges_.Load();
    stats->merged_entries += merged_entries_.Load();
    stats->sort_scratch_bytes = std::max(stats->sort_scratch_bytes, scratch_bytes_.Load());
    const RefPtr<const RunSet> current = Current();
    stats->runs = current ? current->count : 0;
  }
  // From now on runs that are let go of give their chunks to the operating system.
  void MakeCold() { space_.cold.store(true, std::memory_order_relaxed); }

 private:
  // Entries that are sorted at once; bounds the scratch.
  static constexpr uint64_t kStretch = uint64_t{4} << 20;
  // Shorter stretches do not decide what all keys of the table have in common.
  static constexpr uint64_t kMinSkipSample = 64;

  static bool IsEnough(const RefPtr<const RunSet>& set, uint64_t end) { return set && set->covered >= end; }

  RefPtr<const RunSet> Current() const {
    const std::lock_guard<std::mutex> lock(set_mutex_);
    return current_;
  }

  // The runs of a growing set while it is put together.
  struct Draft {
    std::array<RefPtr<const SortedRun>, RunSet::kMaxRuns + 1> runs;
    size_t count = 0;
  };

  RefPtr<const RunSet> Extend(const RefPtr<const RunSet>& current, uint64_t from, uint64_t end) {
    Draft draft;
    for (size_t i = 0; current && i < current->count; ++i) draft.runs[draft.count++] = current->runs[i];
    if (from < end) {
      sorts_.Add(1);
      const size_t skip_bytes = ChooseSkip(from, end);
      while (from < end) {
        uint64_t stretch_end = std::min(end, from + kStretch);
        RefPtr<const SortedRun> run = SortStretch(from, stretch_end, skip_bytes);
        if (!run) {
          // There may still be memory for a stretch that needs no scratch.
          stretch_end = std::min(end, from + SortedRun::kChunkRecords);
          run = SortStretch(from, stretch_end, skip_bytes);
        }
        if (!run) return {};
        from = stretch_end;
        if (run->size() == 0) continue;
        draft.runs[draft.count++] = run;
        if (!MergeTail(&draft)) return {};
      }
    }
    RefPtr<RunSet> set = RefPtr<RunSet>::Adopt(new (std::nothrow) RunSet);
    if (!set) return {};
    for (size_t i = 0; i < draft.count; ++i) set->runs[i] = draft.runs[i];
    set->count = draft.count;
    set->covered = end;
    return set;
  }

  // Bytes that all keys of [from, end) share with all keys of the runs before; 0 costs a look at a few keys only.
  size_t ChooseSkip(uint64_t from, uint64_t end) {
    if (!common_known_) {
      if (end - from < kMinSkipSample) return 0;
      common_key_ = Face::Key(order_.At(order_.log().HandleAt(from)));
      common_bytes_ = common_key_.size();
      common_known_ = true;
    }
    typename Face::Log::Walk walk(from);
    for (uint64_t position = from; position < end && common_bytes_ > 0; ++position) {
      common_bytes_ = CommonPrefixBytes(common_key_, Face::Key(*walk.Next(order_.log())), common_bytes_);
    }
    return common_bytes_;
  }

  RefPtr<const SortedRun> SortStretch(uint64_t from, uint64_t end, size_t skip_bytes) {
    RefPtr<SortedRun> run = SortedRun::Make(&space_, skip_bytes, end - from);
    if (!run) return run;
    SortScratch scratch;
    RunRecord* records = nullptr;
    if (end - from <= SortedRun::kChunkRecords) {
      records = run->FirstChunk();
    } else {
      scratch = SortScratch::Take((end - from) * sizeof(RunRecord));
      records = static_cast<RunRecord*>(scratch.data());
      scratch_bytes_.RaiseTo(scratch.bytes());
    }
    if (records == nullptr) return {};
    uint64_t count = 0;
    bool ascends = true;
    typename Face::Log::Walk walk(from);
    for (uint64_t position = from; position < end; ++position) {
      const auto& slot = *walk.Next(order_.log());
      if (Face::IsDead(slot)) continue;
      records[count] = order_.MakeRecord(slot, walk.handle(), skip_bytes);
      ascends &= count == 0 || records[count - 1].bits() < records[count].bits();
      ++count;
    }
    if (!ascends) SortByBits(records, count);
    OrderEqualRecords(records, count);
    if (!run->AppendAll(records, count)) return {};
    sorted_entries_.Add(count);
    return run;
  }

  // Records that agree in all their key bytes are few, or versions of one key; handles have put them more or less in
  // order of arrival.
  void OrderEqualRecords(RunRecord* records, uint64_t count) const {
    // Records whose entries are brought into the cache ahead of the comparison.
    constexpr uint64_t kAhead = 16;
    for (uint64_t begin = 0, woken = 0; begin + 1 < count;) {
      uint64_t end = begin + 1;
      while (end < count && records[end].key_bits() == records[begin].key_bits()) ++end;
      for (woken = std::max(woken, begin + 1); woken < std::min(end + kAhead, count); ++woken) {
        if (records[woken].key_bits() != records[woken - 1].key_bits()) continue;
        __builtin_prefetch(&order_.At(records[woken - 1].handle()));
        __builtin_prefetch(&order_.At(records[woken].handle()));
      }
      // Mostly one key's versions in the order of their arrival and so of their numbers: to be turned round.
      if (end - begin > 1 && Falls(records + begin, records + end)) {
        std::reverse(records + begin, records + end);
      } else if (end - begin > 1) {
        pdqsort(records + begin, records + end, [this](const RunRecord& a, const RunRecord& b) {
          return order_.Compare(order_.At(a.handle()), order_.At(b.handle())) < 0;
        });
      }
      begin = end;
    }
  }

  // Whether each record comes behind the next.
  bool Falls(const RunRecord* begin, const RunRecord* end) const {
    for (const RunRecord* record = begin; record + 1 < end; ++record) {
      if (order_.Compare(order_.At(record[0].handle()), order_.At(record[1].handle())) <= 0) return false;
    }
    return true;
  }

  // Merges the last run of the draft with those before it while they are less than twice as large as all behind them.
  bool MergeTail(Draft* draft) {
    size_t sources = 1;
    uint64_t total = draft->runs[draft->count - 1]->size();
    while (sources < draft->count) {
      const uint64_t size = draft->runs[draft->count - sources - 1]->size();
      if (size >= 2 * total) break;
      total += size;
      ++sources;
    }
    if (sources < 2) return true;
    const size_t first = draft->count - sources;
    RefPtr<const SortedRun> merged = Merge(&draft->runs[first], sources, total);
    if (!merged) return false;
    for (size_t i = first; i < draft->count; ++i) draft->runs[i] = {};
    draft->runs[first] = merged;
    draft->count = first + 1;
    return true;
  }

  RefPtr<const SortedRun> Merge(const RefPtr<const SortedRun>* runs, size_t count, uint64_t total) {
    struct Source {
      const SortedRun* run;
      uint64_t index;
      RunRecord record;  // with the merged run's skip
    };
    std::array<Source, RunSet::kMaxRuns + 1> sources;
    size_t skip_bytes = runs[0]->skip_bytes();
    for (size_t i = 1; i < count; ++i) skip_bytes = std::min(skip_bytes, runs[i]->skip_bytes());
    const auto load = [&](Source& source) {
      if (source.index == source.run->size()) return;
      source.record = source.run->At(source.index);
      if (source.run->skip_bytes() != skip_bytes) source.record = order_.MakeRecord(source.record.handle(), skip_bytes);
    };
    for (size_t i = 0; i < count; ++i) {
      sources[i] = {runs[i].get(), 0, {}};
      load(sources[i]);
    }
    const auto before = [&](uint32_t a, uint32_t b) {
      const Source &source_a = sources[a], &source_b = sources[b];
      if (source_a.index == source_a.run->size()) return false;
      if (source_b.index == source_b.run->size()) return true;
      if (source_a.record.key_bits() != source_b.record.key_bits()) {
        return source_a.record.key_bits() < source_b.record.key_bits();
      }
      return order_.Compare(order_.At(source_a.record.handle()), order_.At(source_b.record.handle())) < 0;
    };
    RefPtr<SortedRun> merged = SortedRun::Make(&space_, skip_bytes, total);
    if (!merged) return {};
    LoserTree<RunSet::kMaxRuns + 1> tree;
    tree.Build(static_cast<uint32_t>(count), before);
    for (uint64_t i = 0; i < total; ++i) {
      Source& source = sources[tree.winner()];
      if (!merged->Append(source.record)) return {};
      ++source.index;
      load(source);
      tree.Replay(before);
    }
    merges_.Add(1);
    merged_entries_.Add(total);
    return merged;
  }

  const KeyOrder<Face> order_;
  RunSpace space_;

  // Changed under sort_mutex_. Here and not with the table, since an iterator may sort after the table's end.
  Cell sorts_;
  Cell sorted_entries_;
  Cell merges_;
  Cell merged_entries_;
  Cell scratch_bytes_;

  std::mutex sort_mutex_;        // held while sorting; taken before set_mutex_
  std::string_view common_key_;  // sort_mutex_: a key of the table, and how much of it all sorted keys share
  size_t common_bytes_ = 0;
  bool common_known_ = false;

  mutable std::mutex set_mutex_;  // held for a pointer copy
  RefPtr<const RunSet> current_;
};

}  // namespace strongbin
