// How the entries of one log are found and put in order: the ascending base, the lookup index, the sorted runs.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "strongbin/memtable/key_hash.h"
#include "strongbin/memtable/key_order.h"
#include "strongbin/memtable/lookup_index.h"
#include "strongbin/memtable/ordered_cursor.h"
#include "strongbin/memtable/ordered_runs.h"
#include "strongbin/memtable/sequence_window.h"
#include "strongbin/memtable/table_report.h"
#include "strongbin/memtable/types.h"
#include "strongbin/stats/metrics.h"

namespace strongbin {

// What both faces of the memtable share beyond the log: while entries ascend, the log itself is the base run; later
// ones are indexed as they come, single ones some appends later; sorted runs are made when an ordered reader asks.
//
// Borrows the log, which holds the entries; owns index and runs, whose chunks come from the supply.
// Thread safety: one writer at a time; reads beside it. Lifetime: handles are valid as long as the log.
// When memory is refused: a single entry waits outside the index until memory comes back, found by a scan of those that
// wait; a face that had rather refuse it asks MakeRoomForOne() first. Cost: O(1) an entry, O(log n) while ascending for
// a find.
//
// How a writer adds: the entry is whole in its slot, at the end of the log and not published. Add* makes it findable;
// then the writer publishes the slot.
template <class Face>
class TableCore {
 public:
  using Slot = typename Face::Slot;
  using Log = typename Face::Log;
  using Outcome = typename LookupIndex<Face>::Outcome;

  // Single appends are indexed some appends later, a block at a time; until then readers compare the hashes of those
  // that wait. Each full block goes one step further towards its places in the index (FetchAhead), and the appends that
  // fill the next block give what that step has asked for the time to arrive, before the next step uses it. And the
  // addresses of a block are translated side by side. (Entry by entry, each translation holds up the next.)
  static constexpr uint64_t kBlock = 8;
  static constexpr uint64_t kMaxPending = 4 * kBlock;

  // `expected_keys`: how many distinct keys the index may prepare for. `add_to` gives the writer's numbers of the
  // generation to the statistics page: those of its log and of AddIndexTo.
  TableCore(ChunkSupply* supply, const Log& log, uint64_t expected_keys, TableReport::AddTo add_to = nullptr,
            const void* generation = nullptr)
      : log_(log), index_(supply, log, expected_keys), runs_(supply, log), report_(add_to, generation) {}

  static bool IsDone(Outcome outcome) { return outcome == Outcome::kNewKey || outcome == Outcome::kNewVersion; }

  // ---- Writer ----

  // Makes room among those that wait for the index. False when memory is refused.
  bool MakeRoomForOne() { return pending_count_ < kMaxPending || IndexDownTo(kMaxPending - kBlock); }
  // Adds the entry behind the end of the log. False if there is one with its key and sequence.
  [[nodiscard]] bool AddOne(const Slot& entry);
  // Indexes what was let wait for it; otherwise the next appends do. False when memory is refused, which harms nothing.
  bool IndexPending() { return IndexDownTo(0); }

  // The pieces that batches are made of.
  bool ascending() const { return ascending_; }
  const Slot* last_in_base() const { return last_in_base_; }
  // Negative if `entry` comes behind `previous`, or there is none; zero if it is the same key and sequence.
  int StepFrom(const Slot* previous, const Slot& entry) const {
    if (previous == nullptr) return -1;
    const uint64_t prefix = Face::Prefix(entry), previous_prefix = Face::Prefix(*previous);
    if (previous_prefix != prefix) [[likely]]
      return previous_prefix < prefix ? -1 : 1;
    return KeyOrder<Face>(log_).Compare(*previous, entry);
  }
  // The next `count` entries, the last of which is `last`, ascend behind the base and become part of it.
  void ExtendBase(const Slot* last, uint64_t count, Sequence max_sequence) {
    sequences_.NoteAllUpTo(max_sequence);
    PutIntoBase(last, count, max_sequence);
  }
  // Ends the ascending stretch.
  void SealBase();
  uint64_t HashOf(const Slot& entry) const { return HashKey(Face::Key(entry), hash_seed_); }
  // Requires a sealed base and that nothing waits.
  Outcome IndexEntry(uint64_t hash, const Slot& entry, uint32_t handle);
  // All entries below `end` are in the index or the base.
  void SetIndexed(uint64_t end, Sequence max_sequence) {
    sequences_.NoteAllUpTo(max_sequence);
    // Release: pairs with Find.
    indexed_count_.store(end, std::memory_order_release);
  }

  // How many index inserts `entry_count` more entries may bring.
  uint64_t InsertsAhead(uint64_t entry_count) const {
    const uint64_t base_count = base_count_.load(std::memory_order_relaxed);
    if (!ascending_) return entry_count + pending_count_;
    return base_count + entry_count <= 1 ? 0 : entry_count + std::min(base_count, kMaxIndexedBase);
  }
  const LookupIndex<Face>& index() const { return index_; }
  void AddIndexTo(TableStats* stats) const;
  void AddRunsTo(TableStats* stats) const { runs_.AddTo(stats); }  // any thread
  // Brings the statistics page up to date: after a batch, where it is due; or at once.
  void ReportProgress() { report_.OnProgress(log_.writer_size()); }
  void ReportNow() {
    report_.Report(log_.writer_size());
    runs_.ReportUnlessSorting();
  }
  // The same for the last time, while the generation still has all it had.
  void EndReport() { report_.End(); }
  void Drop() {
    runs_.MakeCold();
    index_.Drop();
  }

  // ---- Readers ----

  // The handle of the newest version of `key` at or below `snapshot` that is not dead.
  std::optional<uint32_t> Find(std::string_view key, Sequence snapshot) const;
  // Whether there is an entry with this key and sequence.
  bool Contains(std::string_view key, Sequence sequence) const {
    const std::optional<uint32_t> handle = Find(key, sequence);
    return handle && Face::SequenceOf(*log_.At(*handle)) == sequence;
  }
  // Gives the cursor all entries that are in the log now. False when memory for sorting is refused.
  bool SetSources(OrderedCursor<Face>* cursor) const;
  // Entries at the start that ascend and so are a run by themselves. Read after log().size().
  // Acquire: when it has fallen to 0, the index is seen to hold what was in the base.
  uint64_t base_count() const { return base_count_.load(std::memory_order_acquire); }
  // Of the entries [base_count, end), how many an ordered read now would have to sort.
  uint64_t UnsortedCount(uint64_t base_count, uint64_t end) const {
    const uint64_t covered = std::max(base_count, runs_.covered());
    return end > covered ? end - covered : 0;
  }
  size_t reserved_bytes() const { return index_.reserved_bytes() + runs_.reserved_bytes(); }

 private:
  // Up to this many base entries are put into the index when the table stops ascending; a larger base stays as it is.
  static constexpr uint64_t kMaxIndexedBase = 64;
  // A reader that finds more waiting than there can be looks again: the writer has gone on meanwhile.
  static constexpr int kMaxLooks = 4;

  // Room for what is kept of those that wait; a power of two, by which a position is divided fast.
  static constexpr uint64_t kPlaces = 64;
  static_assert(kPlaces >= kMaxPending);
  // What is kept of the hash of an entry that waits: all that the index wants to know of it; never kUnknownHash.
  static uint32_t Keep(uint64_t hash) { return static_cast<uint32_t>(hash >> 32) | 1; }
  static uint64_t HashOfKept(uint32_t kept) { return uint64_t{kept} << 32; }
  // Without memory for the index more wait than have places for their hashes; the entry itself must then be looked at.
  static constexpr uint32_t kUnknownHash = 0;

  void PutIntoBase(const Slot* last, uint64_t count, Sequence max_sequence);
  bool FindInBase(const Slot& entry) const;
  // Until no more than `count` wait. False when memory is refused before.
  bool IndexDownTo(uint64_t count) {
    while (pending_count_ > count) {
      if (!IndexOldest()) return false;
    }
    return true;
  }
  bool IndexOldest();
  void Defer(uint64_t hash, bool is_newest);
  void FetchAhead(uint64_t end);

  const Log& log_;
  const uint64_t hash_seed_ = ProcessHashSeed();
  LookupIndex<Face> index_;
  mutable OrderedRuns<Face> runs_;
  TableReport report_;  // writer only

  // Writer only.
  bool ascending_ = true;
  const Slot* last_in_base_ = nullptr;
  SequenceWindow sequences_;
  uint64_t pending_count_ = 0;   // the last entries of the log, which are not in the index yet
  uint64_t pending_newest_ = 0;  // whether they are newer than all before, one bit a position
  // What the index had for the block that FetchAhead looked up last, and whether any of it must be compared.
  std::array<uint32_t, kBlock> matches_{};
  bool compares_matches_ = false;

  // The hashes of the last entries that had to wait, by position, or kUnknownHash. See Find for the order.
  std::array<std::atomic<uint32_t>, kPlaces> pending_hashes_{};
  std::atomic<uint64_t> base_count_{0};
  // Once the table has stopped ascending: entries from here on are not in the index yet.
  std::atomic<uint64_t> indexed_count_{0};
  // Highest sequence in the base. Relaxed: published by base_count_.
  std::atomic<uint64_t> base_max_sequence_{0};
};

template <class Face>
inline bool TableCore<Face>::AddOne(const Slot& entry) {
  const Sequence sequence = Face::SequenceOf(entry);
  const bool is_newest = sequences_.NoteHighest(sequence);
  const bool is_new = sequences_.NoteNew(sequence, [this] { ReportProgress(); });
  if (ascending_) {
    const int step = StepFrom(last_in_base_, entry);
    if (step < 0) {
      PutIntoBase(&entry, 1, sequence);
      return true;
    }
    if (step == 0) return false;
    SealBase();
  }
  if (!is_new && Contains(Face::Key(entry), sequence)) return false;
  MakeRoomForOne();
  Defer(HashOf(entry), is_newest);
  return true;
}

template <class Face>
inline void TableCore<Face>::Defer(uint64_t hash, bool is_newest) {
  const uint64_t position = log_.writer_size();
  // Release: pairs with Find, for which an overwritten hash means that the entry of the old one is in the index. Where
  // the old one waits still, for want of memory, neither is known.
  const bool place_is_free = pending_count_ < kMaxPending;
  pending_hashes_[position % kPlaces].store(place_is_free ? Keep(hash) : kUnknownHash, std::memory_order_release);
  const uint64_t place_bit = uint64_t{1} << (position % kPlaces);
  pending_newest_ = place_is_free && is_newest ? pending_newest_ | place_bit : pending_newest_ & ~place_bit;
  ++pending_count_;
  if (place_is_free && pending_count_ % kBlock == 0) FetchAhead(position + 1);
}

// Of the blocks that wait, which end before position `end`: one step for each, towards its entries' places in the
// index.
template <class Face>
void TableCore<Face>::FetchAhead(uint64_t end) {
  const auto for_block = [&](uint64_t number, auto&& step) {
    if (pending_count_ < (number + 1) * kBlock) return;
    const uint64_t first = end - (number + 1) * kBlock;
    for (uint64_t i = 0; i < kBlock; ++i) step((first + i) % kPlaces, i);
  };
  const auto hash_at = [this](uint64_t place) {
    return HashOfKept(pending_hashes_[place].load(std::memory_order_relaxed));
  };
  // The oldest block first: the next one's matches take the place of its own.
  if (compares_matches_) for_block(2, [&](uint64_t, uint64_t i) { index_.WakeEntry(matches_[i]); });
  for_block(0, [&](uint64_t place, uint64_t) { index_.WakeLine(hash_at(place)); });
  uint32_t any_match = 0, any_compared = 0;
  for_block(1, [&](uint64_t place, uint64_t i) {
    any_match |= matches_[i] = index_.MatchOf(hash_at(place));
    any_compared |= (pending_newest_ >> place & 1) == 0 ? matches_[i] : 0;
  });
  if (any_match != 0) for_block(1, [&](uint64_t, uint64_t i) { index_.WakeList(matches_[i]); });
  compares_matches_ = any_compared != 0;
}

template <class Face>
bool TableCore<Face>::IndexOldest() {
  const uint64_t position = log_.writer_size() - pending_count_;
  const uint32_t handle = log_.HandleAt(position);
  const uint32_t kept = pending_hashes_[position % kPlaces].load(std::memory_order_relaxed);
  const uint64_t hash = kept != kUnknownHash ? HashOfKept(kept) : HashOf(*log_.At(handle));
  const bool is_newest = kept != kUnknownHash && (pending_newest_ >> (position % kPlaces) & 1) != 0;
  const Outcome outcome = index_.Insert(hash, handle, is_newest);
  assert(outcome != Outcome::kDuplicate);
  if (outcome == Outcome::kOutOfMemory) return false;
  --pending_count_;
  // Release: pairs with Find.
  indexed_count_.store(position + 1, std::memory_order_release);
  return true;
}

template <class Face>
void TableCore<Face>::PutIntoBase(const Slot* last, uint64_t count, Sequence max_sequence) {
  base_max_sequence_.store(std::max(base_max_sequence_.load(std::memory_order_relaxed), max_sequence),
                           std::memory_order_relaxed);
  last_in_base_ = last;
  // Release: pairs with base_count(). Before the slots are published, so that who sees the size sees at least this
  // base.
  base_count_.store(log_.writer_size() + count, std::memory_order_release);
}

// A short base goes into the index, so that later reads need not look at it.
template <class Face>
void TableCore<Face>::SealBase() {
  const uint64_t base_count = base_count_.load(std::memory_order_relaxed);
  bool is_indexed = base_count <= kMaxIndexedBase;
  for (uint64_t position = 0; is_indexed && position < base_count; ++position) {
    const uint32_t handle = log_.HandleAt(position);
    // Without memory the base stays, however short, beside what of it is in the index already.
    is_indexed = index_.Insert(HashOf(*log_.At(handle)), handle, /*is_newest=*/false) != Outcome::kOutOfMemory;
  }
  // Release: as below, and before the base is seen gone.
  indexed_count_.store(base_count, std::memory_order_release);
  // Release: pairs with base_count(); who sees the base gone sees the index.
  if (is_indexed) base_count_.store(0, std::memory_order_release);
  ascending_ = false;
}

template <class Face>
bool TableCore<Face>::FindInBase(const Slot& entry) const {
  const uint64_t base_count = base_count_.load(std::memory_order_relaxed);
  const Sequence sequence = Face::SequenceOf(entry);
  if (sequence > base_max_sequence_.load(std::memory_order_relaxed)) return false;
  const KeyOrder<Face> order(log_);
  const uint64_t index = order.LowerBoundInLog(base_count, {.key = Face::Key(entry), .sequence = sequence});
  return index < base_count && order.Compare(*log_.At(log_.HandleAt(index)), entry) == 0;
}

template <class Face>
inline typename TableCore<Face>::Outcome TableCore<Face>::IndexEntry(uint64_t hash, const Slot& entry,
                                                                     uint32_t handle) {
  const bool is_newest = sequences_.NoteHighest(Face::SequenceOf(entry));
  if (!is_newest && base_count_.load(std::memory_order_relaxed) != 0 && FindInBase(entry)) return Outcome::kDuplicate;
  return index_.Insert(hash, handle, is_newest);
}

template <class Face>
std::optional<uint32_t> TableCore<Face>::Find(std::string_view key, Sequence snapshot) const {
  const uint64_t prefix = KeyPrefix(key);
  const uint64_t hash = HashKey(key, hash_seed_);
  // It arrives while we look at what waits.
  index_.WakeLineToRead(hash);
  std::optional<uint32_t> newest;
  const auto consider = [&](std::optional<uint32_t> handle) {
    if (!handle) return;
    if (!newest || Face::SequenceOf(*log_.At(*handle)) > Face::SequenceOf(*log_.At(*newest))) newest = handle;
  };
  // In this order: entries below indexed_count are in the base or the index once it is read, and a base that is read
  // after the size covers it as long as the table ascends.
  uint64_t indexed_count, end, base_count;
  for (int look = 0; look < kMaxLooks; ++look) {
    // Acquire: the index is seen to lead to all entries below.
    indexed_count = indexed_count_.load(std::memory_order_acquire);
    end = log_.size();
    base_count = this->base_count();
    if (end <= std::max(indexed_count, base_count) + kMaxPending) break;
  }
  // The base is made known before its last slots are.
  base_count = std::min(base_count, end);
  const uint32_t wanted = Keep(hash);
  const uint64_t first = std::max(indexed_count, base_count);
  for (uint64_t position = first; position < end; ++position) {
    // Acquire: if it is the hash of a later entry, this one is in the index, as seen by the search below.
    const uint32_t kept = pending_hashes_[position % kPlaces].load(std::memory_order_acquire);
    if (kept != wanted && kept != kUnknownHash) continue;
    const uint32_t handle = log_.HandleAt(position);
    const Slot& entry = *log_.At(handle);
    if (!Face::HasKey(entry, key, prefix) || Face::SequenceOf(entry) > snapshot) continue;
    if (!Face::IsDead(entry)) consider(handle);
  }
  if (!index_.empty()) consider(index_.Find(hash, key, prefix, snapshot));
  if (base_count == 0) return newest;
  if (newest && Face::SequenceOf(*log_.At(*newest)) > base_max_sequence_.load(std::memory_order_relaxed)) {
    return newest;
  }
  const uint64_t index = KeyOrder<Face>(log_).LowerBoundInLog(base_count, {.key = key, .sequence = snapshot});
  if (index < base_count) {
    const uint32_t handle = log_.HandleAt(index);
    if (Face::Key(*log_.At(handle)) == key) consider(handle);
  }
  return newest;
}

template <class Face>
bool TableCore<Face>::SetSources(OrderedCursor<Face>* cursor) const {
  // The size first: what is below it is then in the base or can be sorted.
  const uint64_t end = log_.size();
  const uint64_t base_count = std::min(this->base_count(), end);
  RefPtr<const RunSet<Face>> runs;
  if (base_count < end) {
    runs = runs_.Cover(base_count, end);
    if (!runs) return false;
  }
  cursor->SetSources(base_count, end, std::move(runs));
  return true;
}

template <class Face>
void TableCore<Face>::AddIndexTo(TableStats* stats) const {
  SetKindBytes(stats, ChunkKind::k_index, index_.used_bytes(), index_.reserved_bytes(), index_.abandoned_bytes());
  stats->ascending_entries = base_count();
  stats->indexed_keys = index_.key_count();
  stats->longest_chain = std::max(stats->longest_chain, index_.longest_chain_slots());
  stats->buffers_examined += index_.buffers_examined();
}

}  // namespace strongbin
