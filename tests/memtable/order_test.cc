// Key order, prefixes, and the tournament over sorted sources.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/entry.h"
#include "strongbin/memtable/key_order.h"
#include "strongbin/memtable/loser_tree.h"
#include "strongbin/memtable/ref_ptr.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

int Sign(int value) { return value < 0 ? -1 : (value > 0 ? 1 : 0); }

std::vector<std::string> SomeKeys(size_t count) {
  Random random(7);
  std::vector<std::string> keys = {"",
                                   std::string(1, '\0'),
                                   std::string(8, '\0'),
                                   std::string(9, '\0'),
                                   "a",
                                   std::string("a\0", 2),
                                   std::string(8, '\xFF'),
                                   std::string(12, '\xFF'),
                                   "\x7F",
                                   "\x80"};
  while (keys.size() < count) keys.push_back(RandomKey(&random, false));
  return keys;
}

TEST(KeyOrderTest, CompareKeysOrdersAsStringsDo) {
  const std::vector<std::string> keys = SomeKeys(400);
  for (const std::string& a : keys) {
    for (const std::string& b : keys) ASSERT_EQ(Sign(CompareKeys(a, b)), Sign(a.compare(b)));
  }
}

TEST(KeyOrderTest, DifferentPrefixesDecideAsTheKeysDo) {
  const std::vector<std::string> keys = SomeKeys(400);
  for (const std::string& a : keys) {
    for (const std::string& b : keys) {
      if (KeyPrefix(a) != KeyPrefix(b)) {
        ASSERT_EQ(KeyPrefix(a) < KeyPrefix(b), a < b);
      }
      if (a.substr(0, 8) == b.substr(0, 8)) {
        ASSERT_EQ(KeyPrefix(a), KeyPrefix(b));
      }
    }
  }
}

TEST(KeyOrderTest, DifferentRecordBitsDecideAsTheKeysDo) {
  const std::vector<std::string> tails = SomeKeys(200);
  for (const size_t skip : {size_t{0}, size_t{1}, size_t{8}, size_t{64}}) {
    const std::string common(skip, 'c');
    for (const std::string& tail_a : tails) {
      for (const std::string& tail_b : tails) {
        const std::string a = common + tail_a, b = common + tail_b;
        const RunRecord record_a = KeyOrder<EntryFace>::MakeRecord(a, 1, skip);
        const RunRecord record_b = KeyOrder<EntryFace>::MakeRecord(b, 2, skip);
        ASSERT_EQ(record_a.handle(), 1u);
        if (record_a.key_bits() != record_b.key_bits()) {
          ASSERT_EQ(record_a.key_bits() < record_b.key_bits(), a < b);
        }
        // Twelve bytes are all that a record holds, so keys that differ there without zero padding must differ in it.
        if (a.size() >= skip + 12 && b.size() >= skip + 12 && a.substr(skip, 12) != b.substr(skip, 12)) {
          ASSERT_NE(record_a.key_bits(), record_b.key_bits());
        }
      }
    }
  }
}

TEST(KeyOrderTest, RecordOfAKeyShorterThanTheSkipIsEmpty) {
  const RunRecord record = KeyOrder<EntryFace>::MakeRecord("ab", 5, 8);
  EXPECT_EQ(static_cast<uint64_t>(record.key_bits()), 0u);
  EXPECT_EQ(record.handle(), 5u);
}

TEST(KeyOrderTest, CommonPrefixStopsAtTheFirstDifferenceAndAtTheLimit) {
  EXPECT_EQ(CommonPrefixBytes("abcd", "abxd", 10), 2u);
  EXPECT_EQ(CommonPrefixBytes("abcd", "abcd", 3), 3u);
  EXPECT_EQ(CommonPrefixBytes("ab", "abcd", 10), 2u);
  EXPECT_EQ(CommonPrefixBytes("", "abcd", 10), 0u);
  EXPECT_EQ(CommonPrefixBytes(std::string_view("\0\0a", 3), std::string_view("\0\0b", 3), 10), 2u);
}

TEST(EntryTest, ByteRefKeepsLengthsUpToItsLimitAndSendsLongerOnesToAFar) {
  const std::string bytes(70'000, 'x');
  for (const size_t size : {size_t{0}, size_t{1}, size_t{8}, size_t{9}, size_t{65'533}, size_t{65'534}}) {
    ASSERT_TRUE(ByteRef::Fits(bytes.data(), size));
    const ByteRef ref = ByteRef::Near(bytes.data(), size);
    EXPECT_EQ(ref.view().data(), bytes.data());
    EXPECT_EQ(ref.view().size(), size);
  }
  EXPECT_FALSE(ByteRef::Fits(bytes.data(), 65'535));
  EXPECT_FALSE(ByteRef::Fits(reinterpret_cast<const char*>(uintptr_t{1} << 48), 1));
  const ByteRef::Far far{bytes.data(), bytes.size()};
  EXPECT_EQ(ByteRef::ToFar(&far).view(), std::string_view(bytes));
  EXPECT_GT(ByteRef::ToFar(&far).near_length(), 8u);
}

TEST(LoserTreeTest, MergesAnyNumberOfSources) {
  constexpr size_t kMaxSources = 40;
  Random random(11);
  for (uint32_t count = 1; count <= kMaxSources; ++count) {
    std::vector<std::vector<uint64_t>> sources(count);
    std::vector<uint64_t> expected;
    for (auto& source : sources) {
      source.resize(Below(&random, 20));  // empty ones too
      for (uint64_t& value : source) expected.push_back(value = random());
      std::sort(source.begin(), source.end());
    }
    std::sort(expected.begin(), expected.end());
    std::vector<size_t> next(count, 0);
    const auto before = [&](uint32_t a, uint32_t b) {
      if (next[a] == sources[a].size()) return false;
      if (next[b] == sources[b].size()) return true;
      return sources[a][next[a]] < sources[b][next[b]];
    };
    LoserTree<kMaxSources> tree;
    tree.Build(count, before);
    std::vector<uint64_t> merged;
    while (next[tree.winner()] < sources[tree.winner()].size()) {
      merged.push_back(sources[tree.winner()][next[tree.winner()]++]);
      tree.Replay(before);
    }
    ASSERT_EQ(merged, expected) << count << " sources";
  }
}

TEST(LoserTreeTest, ReplayComparesOncePerLevel) {
  uint64_t comparisons = 0;
  std::vector<uint64_t> heads(32);
  for (uint64_t i = 0; i < heads.size(); ++i) heads[i] = i;
  const auto before = [&](uint32_t a, uint32_t b) {
    ++comparisons;
    return heads[a] < heads[b];
  };
  LoserTree<32> tree;
  tree.Build(32, before);
  EXPECT_EQ(comparisons, 31u);
  comparisons = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    heads[tree.winner()] += 32;
    tree.Replay(before);
    EXPECT_EQ(heads[tree.winner()], i + 1);
  }
  EXPECT_EQ(comparisons, 500u);
}

struct Counted : RefCounted<Counted> {
  explicit Counted(int* alive) : alive_(alive) { ++*alive_; }
  ~Counted() { --*alive_; }
  int* alive_;
};

TEST(RefPtrTest, ObjectDiesWithItsLastReference) {
  int alive = 0;
  {
    RefPtr<const Counted> kept;
    {
      RefPtr<Counted> made = RefPtr<Counted>::Adopt(new Counted(&alive));
      kept = made;
      RefPtr<const Counted> copy = kept;
      copy = RefPtr<const Counted>();
      EXPECT_FALSE(copy);
      RefPtr<const Counted> moved = std::move(kept);
      EXPECT_FALSE(kept);  // NOLINT(bugprone-use-after-move)
      kept = moved;
    }
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace strongbin
