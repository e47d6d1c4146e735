// The entries that share a hash, mostly versions of one key, newest first.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>

#include "strongbin/memtable/append_log.h"
#include "strongbin/memtable/skip_levels.h"
#include "strongbin/memtable/types.h"
#include "strongbin/stats/test_points.h"

namespace strongbin {

// Skip lists ordered by falling sequence number, one for each hash with two entries or more. Idea: W. Pugh's skip list;
// heights follow from the entry's handle, so that nothing need be stored of them. A list may hold a second key, whose
// hash is the same by chance: so a writer that knows its entry to be the newest adds it without a look at any other.
//
// A list is named by its id: the number of its first word. Head: [levels][count][handle of the newest][next of each
// level]; node: [handle of the entry][next of each level]; words are numbers of nodes, 0 for none.
//
// Owns its words, in pool chunks; a table whose keys have one version each holds none.
// Thread safety: one writer (Create, Add); any number of readers beside it (Find), through an id that they got by
// acquire. Invariants: nodes never move or leave; a node is linked level by level from the bottom, each link stored
// with release after the node is whole, so a reader sees whole nodes only. When memory is refused: Create and Add
// answer so and nothing has changed. Cost: adding the newest entry touches the head and a new node, finding the newest
// is O(1), else O(log entries) expected.
template <class Face>
class VersionLists {
 public:
  using Log = typename Face::Log;
  using ListId = uint32_t;
  enum class Outcome : uint8_t { kAdded, kDuplicate, kOutOfMemory };

  VersionLists(ChunkSupply* supply, const Log& log) : log_(log), words_(supply, ChunkKind::k_index) {}

  // A list of two entries. `second_is_newest`: by its sequence number, as the caller knows. Otherwise the two must not
  // be duplicates.
  [[nodiscard]] std::optional<ListId> Create(uint32_t first_handle, uint32_t second_handle, bool second_is_newest) {
    const std::optional<ListId> head = NewHead(kLowLevels);
    if (!head || AddNewest(*head, first_handle) != Outcome::kAdded) return std::nullopt;
    const Outcome outcome = second_is_newest ? AddNewest(*head, second_handle) : AddInOrder(*head, second_handle);
    return outcome == Outcome::kAdded ? head : std::nullopt;
  }

  // Adds an entry; `is_newest` as above. The list may get another id, which takes the place of the old one for later
  // callers; readers that hold the old one go on.
  [[nodiscard]] Outcome Add(ListId* head, uint32_t handle, bool is_newest) {
    const Outcome outcome = is_newest ? AddNewest(*head, handle) : AddInOrder(*head, handle);
    if (outcome == Outcome::kAdded && Word(*head + kCount) > kGrowAtCount && Word(*head) == kLowLevels) Heighten(head);
    return outcome;
  }

  // The handle of the newest version of `key` at or below `snapshot` that is not dead.
  std::optional<uint32_t> Find(ListId head, std::string_view key, uint64_t prefix, Sequence snapshot) const {
    // Acquire: the entry is whole.
    const uint32_t newest = WordAt(head + kNewest).load(std::memory_order_acquire);
    const typename Face::Slot& entry = *log_.At(newest);
    Face::WakeForReader(&entry);
    if (!Face::HasKey(entry, key, prefix) || Face::SequenceOf(entry) > snapshot || Face::IsDead(entry)) [[unlikely]] {
      return FindOlder(head, key, prefix, snapshot);
    }
    return newest;
  }

  // Writer only.
  uint32_t Newest(ListId head) const { return Word(head + kNewest); }
  void WakeHead(ListId head) const { __builtin_prefetch(&WordAt(head), 1); }

  size_t reserved_bytes() const { return words_.reserved_bytes(); }
  size_t used_bytes() const { return words_.writer_size() * sizeof(uint32_t); }
  void Drop() { words_.Drop(); }

 private:
  static constexpr uint32_t kCount = 1;
  static constexpr uint32_t kNewest = 2;
  static constexpr uint32_t kHeadLinks = 3;  // words before the links of a head
  static constexpr uint32_t kNodeLinks = 1;
  static constexpr uint32_t kLowLevels = 4;
  static constexpr uint32_t kHighLevels = 12;
  static constexpr uint32_t kGrowAtCount = uint32_t{1} << (2 * kLowLevels);  // a level is for four times as many

  std::atomic<uint32_t>& WordAt(uint32_t number) const { return *words_.At(number); }
  // Words of heads and handles: relaxed, ordered by the link or id that led to them.
  uint32_t Word(uint32_t number) const { return WordAt(number).load(std::memory_order_relaxed); }
  // Acquire: pairs with the release in Link; the node that is led to is whole.
  uint32_t Next(uint32_t links, uint32_t level) const { return WordAt(links + level).load(std::memory_order_acquire); }
  void Link(uint32_t links, uint32_t level, uint32_t node) {
    WordAt(links + level).store(node, std::memory_order_release);
  }

  Sequence SequenceAt(uint32_t node) const { return Face::SequenceOf(*log_.At(Word(node))); }

  std::optional<uint32_t> FindOlder(ListId head, std::string_view key, uint64_t prefix, Sequence snapshot) const {
    uint32_t links = head + kHeadLinks;
    // The node that ended the lowest level's search, not a second look at its link: a newer one may be there by now.
    uint32_t node = 0;
    for (uint32_t level = Word(head); level-- > 0;) {
      while ((node = Next(links, level)) != 0 && SequenceAt(node) > snapshot) links = node + kNodeLinks;
    }
    const auto shows = [&](const typename Face::Slot& entry) {
      return !Face::IsDead(entry) && Face::HasKey(entry, key, prefix);
    };
    while (node != 0 && !shows(*log_.At(Word(node)))) node = Next(node + kNodeLinks, 0);
    return node == 0 ? std::nullopt : std::optional<uint32_t>(Word(node));
  }

  // `count` zero words behind each other; 0 when memory is refused or an id could not name them any more. Word 0 is
  // never given out, since 0 means none.
  uint32_t NewWords(uint64_t count) {
    uint64_t start = words_.writer_size();
    if (start == 0) start = 1;
    if (!words_.EnsureRoom(start - words_.writer_size() + count)) return 0;
    if (const uint64_t behind = words_.ContiguousFrom(start); behind < count) start += behind;
    if (start + count > decltype(words_)::kMaxSlots) return 0;
    if (!words_.EnsureRoom(start - words_.writer_size() + count)) return 0;
    std::atomic<uint32_t>* words = words_.At(start);
    for (uint64_t i = 0; i < count; ++i) new (&words[i]) std::atomic<uint32_t>(0);
    words_.Publish(start - words_.writer_size() + count);
    return static_cast<uint32_t>(start);
  }

  std::optional<ListId> NewHead(uint32_t levels) {
    const uint32_t head = NewWords(kHeadLinks + levels);
    if (head == 0) return std::nullopt;
    WordAt(head).store(levels, std::memory_order_relaxed);
    return head;
  }

  // Puts an entry in front, without a look at those that are there.
  Outcome AddNewest(ListId head, uint32_t handle) {
    std::atomic<uint32_t>* const links = &WordAt(head + kHeadLinks);  // words of a head lie behind each other
    return AddBehind(head, handle, /*is_first=*/true, [links](uint32_t level) { return links + level; });
  }

  Outcome AddInOrder(ListId head, uint32_t handle) {
    const typename Face::Slot& entry = *log_.At(handle);
    const Sequence sequence = Face::SequenceOf(entry);
    if (Mutated(Mutation::k_version_by_arrival) || SequenceAt(Next(head + kHeadLinks, 0)) < sequence) [[likely]] {
      return AddNewest(head, handle);
    }
    std::array<uint32_t, kHighLevels> before;
    uint32_t links = head + kHeadLinks;
    for (uint32_t level = Word(head); level-- > 0;) {
      for (uint32_t next; (next = Next(links, level)) != 0 && SequenceAt(next) > sequence;) links = next + kNodeLinks;
      before[level] = links;
    }
    for (uint32_t same = Next(before[0], 0); same != 0 && SequenceAt(same) == sequence;
         same = Next(same + kNodeLinks, 0)) {
      const typename Face::Slot& other = *log_.At(Word(same));
      if (!Face::IsDead(other) && Face::HasKey(other, Face::Key(entry), Face::Prefix(entry)))
        return Outcome::kDuplicate;
    }
    // The first of equal ones is in front too.
    return AddBehind(head, handle, /*is_first=*/before[0] == head + kHeadLinks,
                     [&](uint32_t level) { return &WordAt(before[level] + level); });
  }

  // `link_before` gives for each level of the head the link that is to lead to the entry.
  template <class LinkBefore>
  Outcome AddBehind(ListId head, uint32_t handle, bool is_first, LinkBefore&& link_before) {
    const uint32_t levels = SkipLevels(handle, kHighLevels);
    const uint32_t node = NewWords(kNodeLinks + levels);
    if (node == 0) return Outcome::kOutOfMemory;
    std::atomic<uint32_t>* const head_words = &WordAt(head);
    std::atomic<uint32_t>* const node_words = &WordAt(node);
    node_words[0].store(handle, std::memory_order_relaxed);
    const uint32_t linked_levels = std::min(levels, head_words[0].load(std::memory_order_relaxed));
    for (uint32_t level = 0; level < linked_levels; ++level) {
      // Relaxed: the writer stored it itself.
      node_words[kNodeLinks + level].store(link_before(level)->load(std::memory_order_relaxed),
                                           std::memory_order_relaxed);
    }
    // Release: pairs with Next.
    for (uint32_t level = 0; level < linked_levels; ++level) link_before(level)->store(node, std::memory_order_release);
    YieldPoint(YieldAt::k_version_linked);
    // Release: pairs with Find.
    if (is_first) head_words[kNewest].store(handle, std::memory_order_release);
    head_words[kCount].store(head_words[kCount].load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return Outcome::kAdded;
  }

  // Gives a long list a head with more levels. Nodes have had room for their upper links from the start; readers with
  // the old head do not look at them. Without memory the list stays as it is, only slower.
  void Heighten(ListId* head) {
    const std::optional<ListId> high = NewHead(kHighLevels);
    if (!high) return;
    std::array<uint32_t, kHighLevels> last;
    last.fill(*high + kHeadLinks);
    for (uint32_t level = 0; level < kLowLevels; ++level)
      Link(*high + kHeadLinks, level, Next(*head + kHeadLinks, level));
    constexpr uint32_t kTop = kLowLevels - 1;
    for (uint32_t node = Next(*head + kHeadLinks, kTop); node != 0; node = Next(node + kNodeLinks, kTop)) {
      for (uint32_t level = kLowLevels; level < SkipLevels(Word(node), kHighLevels); ++level) {
        Link(last[level], level, node);
        last[level] = node + kNodeLinks;
      }
    }
    WordAt(*high + kCount).store(Word(*head + kCount), std::memory_order_relaxed);
    WordAt(*high + kNewest).store(Newest(*head), std::memory_order_relaxed);
    *head = *high;
  }

  const Log& log_;
  AppendLog<std::atomic<uint32_t>> words_;
};

}  // namespace strongbin
