// Makes sorted runs: from a stretch of the log, from a delta, from other runs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <pdqsort.h>

#include "strongbin/memtable/common_start.h"
#include "strongbin/memtable/key_order.h"
#include "strongbin/memtable/loser_tree.h"
#include "strongbin/memtable/ordered_delta.h"
#include "strongbin/memtable/record_buckets.h"
#include "strongbin/memtable/record_sort.h"
#include "strongbin/memtable/ref_ptr.h"
#include "strongbin/memtable/run_set.h"
#include "strongbin/memtable/sort_scratch.h"
#include "strongbin/memtable/sorted_run.h"
#include "strongbin/stats/cell.h"
#include "strongbin/stats/metrics.h"
#include "strongbin/stats/test_points.h"

namespace strongbin {

// Makes the runs of one table, and counts what that took.
//
// Borrows log and space; the runs belong to the caller. Thread safety: one thread at a time; AddTo beside it. Lifetime:
// a run needs the space, and not its maker. When memory is refused: null, and what was there stays. Cost: Sort is O(n
// log n), Seal and Merge O(n) moves; 64 Ki entries or fewer are sorted in their run's own chunk, more in buckets, with
// a scratch of some megabytes that is counted apart, or in a scratch for all where too many keys agree in their first
// bytes.
template <class Face>
class RunMaker {
 public:
  static constexpr size_t kMaxSources = 32;

  RunMaker(RunSpace* space, const KeyOrder<Face>& order) : space_(space), order_(order) {}

  // The entries [from, end) of the log but for dead ones. The run leaves out what `common` says that all keys begin
  // with; that is narrowed if it is not so.
  RefPtr<const SortedRun> Sort(uint64_t from, uint64_t end, CommonStart* common) {
    const uint64_t most = end - from;
    bool in_buckets = most > SortedRun::kChunkRecords;
    SortScratch scratch;
    for (;;) {
      RefPtr<SortedRun> run = SortedRun::Make(space_, common->bytes(), most);
      if (!run) return run;
      Outcome outcome = Outcome::kRefused;
      if (in_buckets) {
        if (EnsureScratch(RecordBuckets::ScratchBytes(most), &scratch) && run->ReserveAll()) {
          outcome = SortInBuckets(from, end, scratch.data(), common, run.get());
        }
      } else if (most <= SortedRun::kChunkRecords) {
        if (run->ReserveAll()) outcome = SortAtOnce(from, end, run->Room(0), common, run.get());
      } else if (EnsureScratch(most * sizeof(RunRecord), &scratch)) {
        outcome = SortAtOnce(from, end, static_cast<RunRecord*>(scratch.data()), common, run.get());
      }
      if (outcome == Outcome::kRefused) return {};
      if (outcome == Outcome::kUneven) in_buckets = false;
      if (outcome != Outcome::kDone) continue;
      run->Finish();
      sorted_entries_.Add(run->size());
      return run;
    }
  }

  // What a delta holds, to which nobody adds any more.
  RefPtr<const SortedRun> Seal(const OrderedDelta<Face>& delta) {
    RefPtr<SortedRun> run = SortedRun::Make(space_, delta.skip_bytes(), delta.size());
    if (!run) return run;
    for (auto place = delta.Next(delta.kNone); place != delta.kNone; place = delta.Next(place)) {
      if (!run->Append(delta.RecordAt(place))) return {};
    }
    run->Finish();
    return run;
  }
  // Requires at most kMaxSources.
  RefPtr<const SortedRun> Merge(std::span<const RefPtr<const SortedRun>> runs) {
    struct Source {
      const SortedRun* run;
      uint64_t index;
      RunRecord record;  // with the merged run's skip
    };
    std::array<Source, kMaxSources> sources;
    size_t skip_bytes = runs[0]->skip_bytes();
    uint64_t total = 0;
    for (const auto& run : runs) {
      skip_bytes = std::min(skip_bytes, run->skip_bytes());
      total += run->size();
    }
    const auto load = [&](Source& source) {
      if (source.index == source.run->size()) return;
      source.record = source.run->At(source.index);
      if (source.run->skip_bytes() != skip_bytes) source.record = order_.MakeRecord(source.record.handle(), skip_bytes);
    };
    for (size_t i = 0; i < runs.size(); ++i) {
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
    RefPtr<SortedRun> merged = SortedRun::Make(space_, skip_bytes, total);
    if (!merged) return {};
    LoserTree<kMaxSources> tree;
    tree.Build(static_cast<uint32_t>(runs.size()), before);
    for (uint64_t i = 0; i < total; ++i) {
      Source& source = sources[tree.winner()];
      if (!merged->Append(source.record)) return {};
      ++source.index;
      load(source);
      tree.Replay(before);
    }
    merged->Finish();
    merges_.Add(1);
    merged_entries_.Add(total);
    return merged;
  }

  // Adds what was done.
  void AddTo(TableStats* stats) const {
    stats->sorted_entries += sorted_entries_.Load();
    stats->merges += merges_.Load();
    stats->merged_entries += merged_entries_.Load();
    stats->sort_scratch_bytes = std::max(stats->sort_scratch_bytes, scratch_bytes_.Load());
  }

 private:
  // Records whose entries are brought into the cache ahead of a comparison.
  static constexpr uint64_t kAhead = 16;
  // Starts within starts that are sorted by what follows them.
  static constexpr int kMostLevels = 4;

  // False: no memory.
  bool EnsureScratch(size_t bytes, SortScratch* scratch) {
    if (scratch->bytes() < bytes) *scratch = SortScratch::Take(bytes);
    scratch_bytes_.RaiseTo(scratch->bytes());
    return scratch->data() != nullptr;
  }

  enum class Outcome {
    kDone,
    kRefused,   // memory
    kNarrowed,  // a key did not begin with what is common; it then does
    kUneven,    // a bucket would hold too many
  };

  // What is learnt of entries while their records are made.
  struct Made {
    uint64_t count = 0;
    bool ascends = true;           // the records, strictly
    bool bits_tell_keys = true;    // records with the same key bits are those of versions of one key
    bool sequences_ascend = true;  // with the handles
  };
  // Gives all records to `take`, which answers whether there was room.
  template <class Take>
  Outcome MakeRecords(uint64_t from, uint64_t end, CommonStart* common, Made* made, Take&& take) const {
    const size_t skip_bytes = common->bytes();
    std::string_view first_key;
    Sequence last_sequence = 0;
    RunRecord before{};
    typename Face::Log::Walk walk(from);
    for (uint64_t position = from; position < end; ++position) {
      const auto& slot = *walk.Next(order_.log());
      if (Face::IsDead(slot)) continue;
      const std::string_view key = Face::Key(slot);
      if (skip_bytes > 0 && !common->Begins(key)) [[unlikely]] {
        common->Narrow(key);
        return Outcome::kNarrowed;
      }
      const RunRecord record = order_.MakeRecord(slot, walk.handle(), skip_bytes);
      const Sequence sequence = Face::SequenceOf(slot);
      if (made->count == 0) {
        first_key = key;
      } else {
        made->ascends &= before.bits() < record.bits();
        made->bits_tell_keys = made->bits_tell_keys && DifferInBitsOnly(first_key, key, skip_bytes);
        made->sequences_ascend &= before.handle() < record.handle() && last_sequence < sequence;
      }
      last_sequence = sequence;
      before = record;
      ++made->count;
      if (!take(record)) return Outcome::kUneven;
    }
    return Outcome::kDone;
  }

  // With room for all records in one piece.
  Outcome SortAtOnce(uint64_t from, uint64_t end, RunRecord* records, CommonStart* common, SortedRun* run) const {
    Made made;
    RunRecord* next = records;
    const Outcome outcome = MakeRecords(from, end, common, &made, [&](const RunRecord& record) {
      *next++ = record;
      return true;
    });
    if (outcome != Outcome::kDone) return outcome;
    if (!made.ascends) SortByBits(records, made.count);
    OrderAgreeing(records, made.count, made, run->skip_bytes());
    return Append(records, made.count, run) ? Outcome::kDone : Outcome::kRefused;
  }

  Outcome SortInBuckets(uint64_t from, uint64_t end, void* scratch, CommonStart* common, SortedRun* run) const {
    RecordBuckets buckets(scratch, end - from, run);
    uint64_t sampled = 0;
    const uint64_t stride = (end - from) / buckets.sample().size();
    for (uint64_t i = 0; i < buckets.sample().size(); ++i) {
      // Not the same place of each stride, lest keys that come in turns be sampled unevenly.
      const uint32_t handle = order_.log().HandleAt(from + i * stride + Scatter(i) % stride);
      const auto& slot = order_.At(handle);
      if (!Face::IsDead(slot)) buckets.sample()[sampled++] = order_.MakeRecord(slot, handle, common->bytes());
    }
    if (sampled == 0 || !buckets.Split(sampled)) return Outcome::kUneven;
    Made made;
    const Outcome outcome =
        MakeRecords(from, end, common, &made, [&](const RunRecord& record) { return buckets.Add(record); });
    if (outcome != Outcome::kDone) return outcome;
    if (!buckets.EndAdding()) return Outcome::kUneven;
    for (uint32_t bucket = 0; bucket < buckets.bucket_count(); ++bucket) {
      const bool may_agree = buckets.Sort(bucket);
      const std::span<RunRecord> sorted = buckets.sorted();
      buckets.ClearUpTo(run->size() + sorted.size());
      if (may_agree) OrderAgreeing(sorted.data(), sorted.size(), made, run->skip_bytes());
      if (!Append(sorted.data(), sorted.size(), run)) return Outcome::kRefused;
    }
    return Outcome::kDone;
  }
  static uint64_t Scatter(uint64_t i) { return ((i + 1) * uint64_t{0x9E3779B97F4A7C15}) >> 32; }

  // Records in the order of their bits, with all that have the same key bits.
  void OrderAgreeing(RunRecord* records, uint64_t count, const Made& made, size_t skip_bytes) const {
    if (made.bits_tell_keys && made.sequences_ascend) {
      TurnEqualRecords(records, count);
    } else {
      OrderEqualRecords(records, count, skip_bytes, kMostLevels);
    }
  }
  static bool Append(RunRecord* records, uint64_t count, SortedRun* run) {
    if (Mutated(Mutation::k_unsorted_pair_in_run) && count > 1) std::swap(records[0], records[1]);
    return run->AppendAll(records, count);
  }

  // Whether two keys, which begin with the same `skip_bytes`, are the same but for what records have of them.
  static bool DifferInBitsOnly(std::string_view a, std::string_view b, size_t skip_bytes) {
    const size_t tail = skip_bytes + RunRecord::kKeyBytes;
    return a.size() == b.size() && (a.size() <= tail || a.substr(tail) == b.substr(tail));
  }

  // Where the records end that agree in all their key bytes with the one at `begin`.
  static uint64_t EndOfEqual(const RunRecord* records, uint64_t begin, uint64_t count) {
    uint64_t end = begin + 1;
    while (end < count && records[end].key_bits() == records[begin].key_bits()) ++end;
    return end;
  }

  // Records that agree are versions of one key in the order of their numbers: the newest is to be the first.
  static void TurnEqualRecords(RunRecord* records, uint64_t count) {
    for (uint64_t begin = 0; begin + 1 < count;) {
      const uint64_t end = EndOfEqual(records, begin, count);
      if (end - begin > 1) std::reverse(records + begin, records + end);
      begin = end;
    }
  }

  // Records that agree in all their key bytes are few, versions of one key, or of keys with a long start of their own;
  // handles have put them more or less in order of arrival. `levels` are left for starts within starts.
  void OrderEqualRecords(RunRecord* records, uint64_t count, size_t skip_bytes, int levels) const {
    for (uint64_t begin = 0, woken = 0; begin + 1 < count;) {
      const uint64_t end = EndOfEqual(records, begin, count);
      for (woken = std::max(woken, begin + 1); woken < std::min(end + kAhead, count); ++woken) {
        if (records[woken].key_bits() != records[woken - 1].key_bits()) continue;
        Face::WakeSlot(&order_.At(records[woken - 1].handle()));
        Face::WakeSlot(&order_.At(records[woken].handle()));
      }
      // Mostly one key's versions in the order of their arrival and so of their numbers: to be turned round.
      if (end - begin > 1 && Falls(records + begin, records + end)) {
        std::reverse(records + begin, records + end);
      } else if (end - begin > 1 && !OrderByLaterBytes(records + begin, end - begin, skip_bytes, levels)) {
        pdqsort(records + begin, records + end, [this](const RunRecord& a, const RunRecord& b) {
          return order_.Compare(order_.At(a.handle()), order_.At(b.handle())) < 0;
        });
      }
      begin = end;
    }
  }

  // Sorts records that agree as a whole run is sorted, by what stands behind the start that all their keys have in
  // common. False, and nothing is done: few records, or no such start. Cost: three looks at each entry a level; without
  // a bound on the levels keys could be made that take n of them.
  bool OrderByLaterBytes(RunRecord* records, uint64_t count, size_t skip_bytes, int levels) const {
    constexpr uint64_t kFewRecords = 64;
    if (count < kFewRecords || levels == 0) return false;
    const std::string_view first = Face::Key(order_.At(records[0].handle()));
    // Keys that end within what records have of them are told apart by their lengths.
    const size_t least_common = skip_bytes + RunRecord::kKeyBytes;
    if (first.size() < least_common) return false;
    size_t common = first.size();
    bool are_of_one_size = true;
    for (uint64_t i = 1; i < count; ++i) {
      if (i + kAhead < count) Face::WakeSlot(&order_.At(records[i + kAhead].handle()));
      const std::string_view key = Face::Key(order_.At(records[i].handle()));
      are_of_one_size &= key.size() == first.size();
      common = CommonPrefixBytes(first, key, common);
      if (common < least_common) return false;
    }
    if (are_of_one_size && common == first.size()) return false;  // versions of one key

    const RunRecord agreed = records[0];
    for (uint64_t i = 0; i < count; ++i) records[i] = order_.MakeRecord(records[i].handle(), common);
    SortByBits(records, count);
    OrderEqualRecords(records, count, common, levels - 1);
    for (uint64_t i = 0; i < count; ++i) records[i] = agreed.WithHandle(records[i].handle());
    return true;
  }

  // Whether each record comes behind the next.
  bool Falls(const RunRecord* begin, const RunRecord* end) const {
    for (const RunRecord* record = begin; record + 1 < end; ++record) {
      if (order_.Compare(order_.At(record[0].handle()), order_.At(record[1].handle())) <= 0) return false;
    }
    return true;
  }

  RunSpace* const space_;
  const KeyOrder<Face> order_;

  Cell sorted_entries_;
  Cell merges_;
  Cell merged_entries_;
  Cell scratch_bytes_;
};

}  // namespace strongbin
