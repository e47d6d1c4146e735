// The hash index that finds the versions of a key.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>

#include "strongbin/arena/monotonic_arena.h"
#include "strongbin/memtable/append_log.h"
#include "strongbin/memtable/chunk_owner.h"
#include "strongbin/memtable/index_line.h"
#include "strongbin/memtable/types.h"
#include "strongbin/memtable/version_lists.h"
#include "strongbin/stats/cell.h"

namespace strongbin {

// Insert-only extendible hashing over segments of cache lines.
//
// A line has eight slots of 8 bytes: 31 bits of hash, and either the handle of the only entry with that hash or the id
// of the list of all of them, mostly versions of one key. A hash lies in its home line or behind it; a line that others
// have passed carries a mark.
// Segments of up to kMaxLines lines are reached through a directory by the upper hash bits; a segment that fills up is
// first made larger and then split by one more bit. Everything that growth needs is in the slots: no key is read again.
// Idea: R. Fagin et al., "Extendible hashing"; line buckets as in cache-conscious hash tables.
//
// Owns its segments (a pool chunk each), its directories and the version lists. An empty index holds no chunk.
// Thread safety: one writer (Insert); any number of lock-free readers (Find), beside the writer.
// How readers stay right while a segment is split: the sibling is filled and put into the directory before the moved
// slots are cleared; a reader that finds nothing looks at the directory again and starts over if its segment has been
// replaced or split. The same holds for hashes that a split lets go home: they are there before the directory says so,
// and leave their old slots after it. Entries that it finds are verified against the key, so a stale slot can mislead
// nobody. Lifetime: what Find answers is a handle of the log's. When memory is refused: Insert answers so, and the
// index finds what it found before. Cost: a find touches one line, then the entry, through its list if there is one; an
// insert the line and the head of the list, and other entries only where it is not known that the new one is the
// newest. Growth moves a slot about once over its life; the longest single pause is one split of kMaxLines lines, or
// one doubling of the directory (16 bytes for each segment of about 2,500 keys).
template <class Face>
class LookupIndex {
 public:
  using Log = typename Face::Log;
  enum class Outcome : uint8_t { kNewKey, kNewVersion, kDuplicate, kOutOfMemory };

  static constexpr uint64_t kMaxSegmentBytes = uint64_t{32} << 10;

  // `expected_keys` lets the index begin with as many segments as that many keys will need, each made when its first
  // key comes.
  LookupIndex(ChunkSupply* supply, const Log& log, uint64_t expected_keys)
      : log_(log),
        expected_keys_(expected_keys),
        segments_(supply, ChunkKind::k_index),
        supply_(supply),
        directories_({.pool = supply, .kind = ChunkKind::k_index}) {}
  ~LookupIndex() { delete versions_.load(std::memory_order_relaxed); }
  LookupIndex(const LookupIndex&) = delete;
  LookupIndex& operator=(const LookupIndex&) = delete;

  // Relaxed: a reader that sees a root loads it again, with acquire, before it follows it.
  bool empty() const { return root_.load(std::memory_order_relaxed) == 0; }

  // Steps that bring into the cache what Insert will look at, each when the one before has arrived: the home line of a
  // hash; the head of the list that a slot with this hash leads to; and for an entry that may not be the newest, the
  // entry that such a slot leads to. For several hashes each step is taken side by side, and nothing but it: then their
  // misses and the translations of their addresses overlap. Writer only, which reads what it wrote itself.
  void WakeLine(uint64_t hash) const {
    if (const Line* line = HomeLineOf(hash)) __builtin_prefetch(line, 1);
  }
  // What the slot with this hash in its home line leads to, for the steps that follow; 0 when there is none.
  uint32_t MatchOf(uint64_t hash) const {
    const Line* line = HomeLineOf(hash);
    if (line == nullptr) return 0;
    const IndexLine::View view = line->LookFor(Hash31(hash), std::memory_order_relaxed);
    // Insert will look behind it. (Behind the last line of a segment is none of its: no harm.)
    if (view.is_passed) __builtin_prefetch(line + 1, 1);
    return view.matches == 0 ? 0 : line->ValueAt(IndexLine::Lowest(view.matches), std::memory_order_relaxed);
  }
  void WakeList(uint32_t match) const {
    if ((match & kIsList) != 0) Versions()->WakeHead(match & kValueMask);
  }
  void WakeEntry(uint32_t match) const {
    if (match == 0) return;
    const uint32_t handle = (match & kIsList) != 0 ? Versions()->Newest(match & kValueMask) : match - 1;
    Face::WakeSlot(log_.At(handle));
  }

  // The first of these steps before a Find, for any thread.
  void WakeLineToRead(uint64_t hash) const {
    if (const Line* line = HomeLineOf(hash)) __builtin_prefetch(line);
  }
  // The handle of the newest version of `key` at or below `snapshot` that is not dead.
  std::optional<uint32_t> Find(uint64_t hash, std::string_view key, uint64_t prefix, Sequence snapshot) const;

  // Makes the entry at `handle` findable. `hash` is that of its key. `is_newest`: its sequence number is higher than
  // those of all entries that are in the index, dead ones too.
  [[nodiscard]] Outcome Insert(uint64_t hash, uint32_t handle, bool is_newest);

  // Distinct hashes: as many as keys, but for those that share 31 bits by chance. Writer only.
  uint64_t key_count() const { return key_count_; }
  uint64_t longest_chain_slots() const { return longest_chain_; }  // writer only
  size_t reserved_bytes() const {
    return segments_.reserved_bytes() + directories_.reserved_bytes() + (Versions() ? Versions()->reserved_bytes() : 0);
  }
  // Segments in use, directories, version lists. Writer only.
  size_t used_bytes() const {
    return segments_.reserved_bytes() - outgrown_bytes_.Load() + directories_.used_bytes() +
           (Versions() ? Versions()->used_bytes() : 0);
  }
  // What the first segments have outgrown, and what the directories' arena has left behind.
  size_t abandoned_bytes() const { return outgrown_bytes_.Load() + directories_.abandoned_bytes(); }
  uint64_t buffers_examined() const { return directories_.buffers_examined(); }
  // What the segments that an expectation has promised may still take.
  uint64_t expected_segment_bytes() const { return kMaxSegmentBytes << StartDepth(); }
  // What the next directory will take.
  uint64_t next_directory_bytes() const {
    return sizeof(DirectoryEntry) << (empty() ? StartDepth() : LoadRoot().depth + 1);
  }
  void Drop() {
    segments_.Drop();
    directories_.Drop();
    if (Versions()) Versions()->Drop();
  }

 private:
  static constexpr uint32_t kMinLines = 32;  // a 2 KiB segment
  static constexpr uint32_t kMaxLines = 512;
  static constexpr uint32_t kMaxDepth = 22;  // beyond it segments grow instead of being split
  static constexpr int kHashBits = 31;
  // How full a segment may get: at 11/16 an insert looks at 1.3 lines on average, at 13/16 at 2.7.
  static constexpr uint32_t kMaxFillSixteenths = 11;

  using Line = IndexLine;
  static_assert(kMaxLines * sizeof(Line) == kMaxSegmentBytes);
  // A slot's value: [is list][31 bits handle + 1, or list id].
  static constexpr uint32_t kIsList = uint32_t{1} << 31;
  static constexpr uint32_t kValueMask = kIsList - 1;

  // 0 means an unused slot.
  static uint32_t Hash31(uint64_t hash) {
    const auto hash31 = static_cast<uint32_t>(hash >> (64 - kHashBits));
    return hash31 == 0 ? 1 : hash31;
  }

  // A directory entry's word: [48 bits address of the lines][8 bits log2(lines)][is settled][7 bits local depth].
  class SegmentRef {
   public:
    explicit SegmentRef(uint64_t word) : word_(word) {}
    SegmentRef(Line* lines, uint32_t line_bits, uint32_t depth)
        : word_((reinterpret_cast<uintptr_t>(lines) << 16) | (uint64_t{line_bits} << 8) | depth) {}
    Line* lines() const { return reinterpret_cast<Line*>(word_ >> 16); }
    uint32_t line_bits() const { return (word_ >> 8) & 0xFF; }
    uint32_t line_count() const { return uint32_t{1} << line_bits(); }
    uint32_t line_mask() const { return line_count() - 1; }
    uint32_t depth() const { return word_ & 0x7F; }
    // The split that made it is over. (Another word than before is all that readers ask for.)
    SegmentRef Settled() const { return SegmentRef(word_ | 0x80); }
    uint64_t word() const { return word_; }

   private:
    uint64_t word_;
  };

  struct DirectoryEntry {
    std::atomic<uint64_t> word;  // SegmentRef
    uint64_t live_count;         // of the segment whose range begins here: slots in use; writer only
  };
  // The directory with its depth: [48 bits address][16 bits depth].
  struct Root {
    DirectoryEntry* directory;
    uint32_t depth;
    DirectoryEntry& EntryFor(uint32_t hash31) const { return directory[uint64_t{hash31} >> (kHashBits - depth)]; }
    // The first of all entries that name the segment.
    DirectoryEntry& FirstEntryOf(const SegmentRef& segment, uint32_t hash31) const {
      return directory[(uint64_t{hash31} >> (kHashBits - segment.depth())) << (depth - segment.depth())];
    }
  };
  // Acquire: the directory is seen as it was when it was published.
  Root LoadRoot() const {
    const uint64_t word = root_.load(std::memory_order_acquire);
    return {reinterpret_cast<DirectoryEntry*>(word >> 16), static_cast<uint32_t>(word & 0xFFFF)};
  }
  void StoreRoot(const Root& root) {
    // Release: pairs with LoadRoot.
    root_.store((reinterpret_cast<uintptr_t>(root.directory) << 16) | root.depth, std::memory_order_release);
  }

  // Acquire: who asks for sizes sees the lists as they were made; who follows a slot has seen more already.
  VersionLists<Face>* Versions() const { return versions_.load(std::memory_order_acquire); }
  [[nodiscard]] bool MakeVersions() {
    if (Versions() == nullptr) {
      // Release: pairs with Versions().
      versions_.store(new (std::nothrow) VersionLists<Face>(supply_, log_), std::memory_order_release);
    }
    return Versions() != nullptr;
  }

  const Line* HomeLineOf(uint64_t hash) const {
    const Root root = LoadRoot();
    if (root.directory == nullptr) return nullptr;
    const uint32_t hash31 = Hash31(hash);
    const SegmentRef segment(root.EntryFor(hash31).word.load(std::memory_order_relaxed));
    return &segment.lines()[hash31 & segment.line_mask()];
  }

  // The handle of the newest version of the key among what a slot's value stands for.
  std::optional<uint32_t> Resolve(uint32_t value, std::string_view key, uint64_t prefix, Sequence snapshot) const {
    if ((value & kIsList) != 0) return Versions()->Find(value & kValueMask, key, prefix, snapshot);
    const uint32_t handle = value - 1;
    const typename Face::Slot& entry = *log_.At(handle);
    Face::WakeForReader(&entry);
    if (!Face::HasKey(entry, key, prefix) || Face::SequenceOf(entry) > snapshot || Face::IsDead(entry)) {
      return std::nullopt;
    }
    return handle;
  }

  struct Slot {
    Line* line;  // null: none
    size_t number;
  };
  [[gnu::noinline]] Outcome InsertSlow(uint32_t hash31, uint32_t handle, bool is_newest);
  Slot FindSlot(const SegmentRef& segment, uint32_t hash31);
  Outcome AddVersion(const Slot& slot, uint32_t handle, bool is_newest);
  // Whether they are the same key and sequence.
  bool IsDuplicate(uint32_t there, uint32_t handle) const;
  static uint64_t Place(const SegmentRef& segment, uint32_t hash31, uint32_t value);
  // Slots that may be in use before a segment grows; none in a segment that is still to be made.
  static uint64_t MaxLiveCount(const SegmentRef& segment) {
    return segment.lines() == &kNoLine ? 0 : segment.line_count() * Line::kSlots / 16 * kMaxFillSixteenths;
  }
  uint32_t StartDepth() const;
  bool Start();
  bool GrowSegmentOf(uint32_t hash31);
  bool Enlarge(uint32_t hash31);
  bool Split(uint32_t hash31);
  bool DoubleDirectory();
  DirectoryEntry* NewDirectory(uint32_t depth);
  // Lines that hold anything yet; null when memory is refused.
  Line* NewLines(uint32_t count) { return reinterpret_cast<Line*>(segments_.Add(count * sizeof(Line))); }
  void PutIntoDirectory(const SegmentRef& segment, uint64_t live_count, uint32_t hash31);
  // Slots of each line of a segment that may be split.
  using SlotSets = std::array<uint8_t, kMaxLines>;
  static_assert(Line::kSlots <= 8);
  template <class Visit>
  static void ForEachDisplaced(const SegmentRef& segment, Visit&& visit);
  static void CopyHome(const SegmentRef& segment, SlotSets* left);
  static void ClearSlots(const SegmentRef& segment, const SlotSets& slots);
  static void UnmarkLines(const SegmentRef& segment);

  // Stands for segments that are still to be made; never written.
  static inline Line kNoLine{};

  const Log& log_;
  const uint64_t expected_keys_;
  ChunkOwner segments_;  // a chunk each
  ChunkSupply* const supply_;
  MonotonicArena directories_;
  std::atomic<VersionLists<Face>*> versions_{nullptr};  // made for the first hash with two entries
  std::atomic<uint64_t> root_{0};
  uint64_t key_count_ = 0;
  uint64_t longest_chain_ = 0;
  Cell outgrown_bytes_;
};

template <class Face>
std::optional<uint32_t> LookupIndex<Face>::Find(uint64_t hash, std::string_view key, uint64_t prefix,
                                                Sequence snapshot) const {
  const uint32_t hash31 = Hash31(hash);
  Root root = LoadRoot();
  if (root.directory == nullptr) return std::nullopt;
  // Acquire: the lines of a segment are seen as they were when it was published.
  uint64_t segment_word = root.EntryFor(hash31).word.load(std::memory_order_acquire);
  for (;;) {
    const SegmentRef segment(segment_word);
    const uint32_t mask = segment.line_mask();
    uint32_t line_number = hash31 & mask;
    for (uint32_t passed = 0; passed <= mask; ++passed, line_number = (line_number + 1) & mask) {
      // Acquire: the entry or list that a slot leads to is whole; and a slot found cleared after a split makes the
      // split's directory entry visible to the second look below.
      const Line& line = segment.lines()[line_number];
      const IndexLine::View view = line.LookFor(hash31, std::memory_order_acquire);
      if (view.matches != 0) {
        const size_t slot = IndexLine::Lowest(view.matches);
        const uint32_t value = line.ValueAt(slot, std::memory_order_acquire);
        if (line.Holds(slot, hash31)) return Resolve(value, key, prefix, snapshot);
      }
      if (!view.is_passed) break;
    }
    root = LoadRoot();
    const uint64_t now = root.EntryFor(hash31).word.load(std::memory_order_acquire);
    if (now == segment_word) return std::nullopt;
    segment_word = now;
  }
}

template <class Face>
inline typename LookupIndex<Face>::Outcome LookupIndex<Face>::Insert(uint64_t hash, uint32_t handle, bool is_newest) {
  const uint32_t hash31 = Hash31(hash);
  const Root root = LoadRoot();
  if (root.directory == nullptr) [[unlikely]]
    return InsertSlow(hash31, handle, is_newest);
  const SegmentRef segment(root.EntryFor(hash31).word.load(std::memory_order_relaxed));
  Line& line = segment.lines()[hash31 & segment.line_mask()];
  // Relaxed: the writer reads what it wrote itself.
  const IndexLine::View view = line.LookFor(hash31, std::memory_order_relaxed);
  if (view.matches != 0) return AddVersion({&line, IndexLine::Lowest(view.matches)}, handle, is_newest);
  uint64_t& live_count = root.FirstEntryOf(segment, hash31).live_count;
  // The usual case otherwise: room in its home line and nothing of that line elsewhere.
  if (view.unused == 0 || view.is_passed || live_count >= MaxLiveCount(segment)) [[unlikely]] {
    return InsertSlow(hash31, handle, is_newest);
  }
  line.Fill(IndexLine::Lowest(view.unused), hash31, handle + 1);
  ++live_count;
  ++key_count_;
  return Outcome::kNewKey;
}

}  // namespace strongbin

#include "strongbin/memtable/lookup_index_growth.h"
#include "strongbin/memtable/lookup_index_insert.h"
