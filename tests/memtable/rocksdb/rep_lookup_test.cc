// What Get shows, and what it costs.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/heap_probe.h"
#include "strongbin/tests/memtable/rocksdb/fake_engine.h"
#include "strongbin/tests/memtable/rocksdb/rep_fillings.h"
#include "strongbin/tests/memtable/rocksdb/rep_model.h"

namespace strongbin {
namespace {

class RepLookupTest : public testing::TestWithParam<Filling> {
 protected:
  RepLookupTest() { Fill(rep(), &model_, GetParam()); }
  Rep* rep() { return table_.rep.get(); }
  void Add(const std::string& key, Sequence sequence) {
    ASSERT_TRUE(AddToBoth(rep(), &model_, key, sequence, key + "@" + std::to_string(sequence)));
  }

  ChunkPool pool_;
  FakeMemTable table_{&pool_};
  Model model_;
};

// MemTableRep::Get never lets go of the iterator that it asks for.
TEST_P(RepLookupTest, LookupsTakeNothingFromTheHeap) {
  Add("some key of many bytes", 10'000);
  std::vector<ROCKSDB_NAMESPACE::LookupKey> keys;
  uint64_t expected = 0;
  for (const auto& [key, value] : model_) {
    keys.emplace_back(key.key, key.sequence);
    for (auto older = model_.find(key); older != model_.end() && older->first.key == key.key; ++older) ++expected;
    keys.emplace_back(key.key + "!", kMaxSequence);  // is not there
  }
  uint64_t shown = 0;
  const uint64_t news = HeapNews();
  for (int round = 0; round < 20; ++round) {
    for (const ROCKSDB_NAMESPACE::LookupKey& key : keys) {
      rep()->Get(key, &shown, [](void* args, const char*) {
        ++*static_cast<uint64_t*>(args);
        return true;
      });
    }
  }
  EXPECT_EQ(HeapNews(), news);
  EXPECT_EQ(shown, 20 * expected);
  EXPECT_EQ(table_.arena.calls(), 0u);
}

TEST_P(RepLookupTest, TheCallbackEndsTheLookup) {
  for (Sequence sequence = 10'001; sequence <= 10'010; ++sequence) Add("key", sequence);
  for (uint64_t wanted = 1; wanted <= 10; ++wanted) {
    std::vector<Sequence> shown;
    ForEachVersion(rep(), "key", kMaxSequence, [&](const char* entry) {
      shown.push_back(Decode(entry).sequence);
      return shown.size() < wanted;
    });
    ASSERT_EQ(shown.size(), wanted);
    for (uint64_t i = 0; i < wanted; ++i) ASSERT_EQ(shown[i], 10'010 - i);
  }
}

// A merge operator or a user's callback may read again, from this memtable or another.
TEST_P(RepLookupTest, CallbacksMayLookUpAgain) {
  FakeMemTable other(&pool_);
  Model other_model;
  Fill(other.rep.get(), &other_model, Filling::kRandom);
  for (Sequence sequence = 10'001; sequence <= 10'005; ++sequence) {
    Add("outer", sequence);
    Add("inner", sequence);
    ASSERT_TRUE(AddToBoth(other.rep.get(), &other_model, "inner", sequence + 7));
  }
  uint64_t outer_shown = 0;
  ForEachVersion(rep(), "outer", kMaxSequence, [&](const char* outer_entry) {
    EXPECT_EQ(Decode(outer_entry).sequence, 10'005 - outer_shown);
    ++outer_shown;
    EXPECT_TRUE(SameVersions(rep(), model_, "inner"));
    EXPECT_TRUE(SameVersions(rep(), model_, "outer"));
    ForEachVersion(other.rep.get(), "inner", kMaxSequence, [&](const char*) {
      EXPECT_TRUE(SameVersions(rep(), model_, "inner", 10'003));
      EXPECT_TRUE(SameVersions(other.rep.get(), other_model, "inner", 10'010));
      return true;
    });
    return true;
  });
  EXPECT_EQ(outer_shown, 5u);
}

// Whatever is opened while a lookup runs is not the iterator of the lookup.
TEST_P(RepLookupTest, IteratorsOpenedInsideCallbacksOutliveTheLookup) {
  Add("key", 10'001);
  std::vector<RepIteratorPtr> opened;
  ForEachVersion(rep(), "key", kMaxSequence, [&](const char*) {
    opened.push_back(OpenIterator(rep()));
    opened.push_back({rep()->GetDynamicPrefixIterator(nullptr), EndIterator{IteratorEnd::kDelete}});
    opened.back()->SeekToFirst();
    EXPECT_TRUE(SamePlace(*opened.back(), &*model_.begin()));
    return true;
  });
  ASSERT_EQ(opened.size(), 2u);
  for (const RepIteratorPtr& iterator : opened) {
    iterator->SeekToLast();
    EXPECT_TRUE(SamePlace(*iterator, &*model_.rbegin()));
  }
}

TEST_P(RepLookupTest, CallbacksThatThrowLeaveNothingBehind) {
  Add("key", 10'001);
  Add("key", 10'002);
  const auto throwing = [](const char*) -> bool { throw std::runtime_error("of the callback"); };
  for (int round = 0; round < 3; ++round) {
    EXPECT_THROW(ForEachVersion(rep(), "key", kMaxSequence, throwing), std::runtime_error);
    ASSERT_TRUE(SameVersions(rep(), model_, "key"));
    // The lookup's own iterator is not on offer any more.
    const RepIteratorPtr iterator{rep()->GetDynamicPrefixIterator(nullptr), EndIterator{IteratorEnd::kDelete}};
    iterator->SeekToFirst();
    ASSERT_TRUE(SamePlace(*iterator, &*model_.begin()));
  }
  // From within another lookup, which goes on.
  uint64_t shown = 0;
  ForEachVersion(rep(), "key", kMaxSequence, [&](const char*) {
    ++shown;
    EXPECT_THROW(ForEachVersion(rep(), "key", kMaxSequence, throwing), std::runtime_error);
    return true;
  });
  EXPECT_EQ(shown, 2u);
}

TEST_P(RepLookupTest, KeysThatArePrefixesOfEachOtherAreDifferentKeys) {
  std::vector<std::string> keys = {"", std::string(1, '\0'), std::string(2, '\0'), "\x01", "\xFF", "\xFF\xFF"};
  // Around the eight bytes that are compared as one number, and the twelve that runs keep.
  for (const size_t bytes : {1u, 6u, 7u, 8u, 9u, 11u, 12u, 13u, 20u}) {
    for (const char last : {'\0', 'a', '\x7F', '\x80', '\xFF'}) {
      keys.push_back(std::string(bytes, 'a') + last);
      keys.push_back(std::string(bytes, '\0') + last);
    }
    keys.push_back(std::string(bytes, 'a'));
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  Random random(1);
  std::shuffle(keys.begin(), keys.end(), random);
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(FirstVersion(rep(), keys[i]), nullptr) << Printable(keys[i]);
    Add(keys[i], 10'000 + i);
  }
  for (const std::string& key : keys) {
    ASSERT_TRUE(SameVersions(rep(), model_, key)) << Printable(key);
    for (const std::string& longer : {key + '\0', key + "a", key + '\xFF'}) {
      ASSERT_TRUE(SameVersions(rep(), model_, longer)) << Printable(longer);
    }
  }
  ASSERT_TRUE(SameContent(table_.rep.get(), model_));
}

TEST_P(RepLookupTest, TheFirstAndTheLastSequenceAreSequencesLikeOthers) {
  for (const std::string& key : {std::string(), std::string("key"), NumberKey(5, 12)}) {
    Add(key, kMaxSequence);
    Add(key, 0);
    Add(key, 10'000);
    for (const Sequence snapshot :
         {Sequence{0}, Sequence{1}, Sequence{9'999}, Sequence{10'000}, kMaxSequence - 1, kMaxSequence}) {
      ASSERT_TRUE(SameVersions(rep(), model_, key, snapshot)) << Printable(key) << " at " << snapshot;
    }
  }
  ASSERT_TRUE(SameContent(table_.rep.get(), model_));
}

INSTANTIATE_TEST_SUITE_P(Fillings, RepLookupTest, testing::ValuesIn(kFillings), FillingName);

// ---- Many versions of one key ----

enum class Order : uint8_t { kRising, kFalling, kShuffled };

class RepVersionsTest : public testing::TestWithParam<std::tuple<uint64_t, Order>> {
 protected:
  static constexpr Sequence kStep = 3;  // so that snapshots fall between versions

  static std::vector<Sequence> Sequences() {
    const auto [count, order] = GetParam();
    std::vector<Sequence> sequences(count);
    for (uint64_t i = 0; i < count; ++i) sequences[i] = (i + 1) * kStep;
    Random random(count);
    if (order == Order::kFalling) std::reverse(sequences.begin(), sequences.end());
    if (order == Order::kShuffled) std::shuffle(sequences.begin(), sequences.end(), random);
    return sequences;
  }

  // The newest of the versions (1 ... count) * kStep at or below the snapshot.
  static std::optional<Sequence> NewestAt(Sequence snapshot, uint64_t count) {
    const Sequence newest = std::min(snapshot / kStep, count) * kStep;
    return newest == 0 ? std::nullopt : std::optional<Sequence>(newest);
  }
  static std::optional<Sequence> Find(Rep* rep, const std::string& key, Sequence snapshot) {
    const char* entry = FirstVersion(rep, key, snapshot);
    if (entry == nullptr) return std::nullopt;
    return Decode(entry).key == key ? Decode(entry).sequence : kMaxSequence;
  }
};

TEST_P(RepVersionsTest, AreFoundAtEverySnapshotAndInFallingOrder) {
  const uint64_t count = std::get<0>(GetParam());
  ChunkPool pool;
  FakeMemTable table(&pool);
  // Both sides of the hot key, so that the table does not ascend.
  ASSERT_TRUE(AddEntry(table.rep.get(), {.key = "z", .sequence = 1}));
  ASSERT_TRUE(AddEntry(table.rep.get(), {.key = "a", .sequence = 1}));
  for (const Sequence sequence : Sequences()) {
    ASSERT_TRUE(AddEntry(table.rep.get(), {.key = "hot", .sequence = sequence}));
  }
  Random random(7);
  for (uint64_t i = 0; i < 20'000; ++i) {
    const Sequence snapshot = Below(&random, (count + 2) * kStep);
    ASSERT_EQ(Find(table.rep.get(), "hot", snapshot), NewestAt(snapshot, count)) << "at " << snapshot;
  }
  for (const Sequence snapshot : {kMaxSequence, count / 2 * kStep + 1}) {
    std::optional<Sequence> expected = NewestAt(snapshot, count);
    ForEachVersion(table.rep.get(), "hot", snapshot, [&](const char* entry) {
      EXPECT_EQ(Decode(entry).sequence, expected);
      expected = NewestAt(Decode(entry).sequence - 1, count);
      return !HasFailure();
    });
    ASSERT_EQ(expected, std::nullopt);
  }
  const Sequence again = Sequences()[count / 2];
  EXPECT_FALSE(AddEntry(table.rep.get(), {.key = "hot", .sequence = again}));
  EXPECT_EQ(table.Stats().entries, count + 2);
  EXPECT_EQ(Find(table.rep.get(), "a", kMaxSequence), 1u);
  EXPECT_EQ(Find(table.rep.get(), "z", 0), std::nullopt);
}

// While the list grows, at all times.
TEST_P(RepVersionsTest, AreFoundWhileOthersArrive) {
  ChunkPool pool;
  FakeMemTable table(&pool);
  ASSERT_TRUE(AddEntry(table.rep.get(), {.key = "z", .sequence = 1}));
  std::vector<Sequence> sequences = Sequences();
  sequences.resize(std::min<size_t>(sequences.size(), 2'000));
  std::vector<Sequence> there;
  Random random(8);
  for (const Sequence sequence : sequences) {
    ASSERT_TRUE(AddEntry(table.rep.get(), {.key = "hot", .sequence = sequence}));
    there.insert(std::upper_bound(there.begin(), there.end(), sequence), sequence);
    for (int probe = 0; probe < 4; ++probe) {
      const Sequence snapshot = Below(&random, there.back() + 2);
      const auto behind = std::upper_bound(there.begin(), there.end(), snapshot);
      ASSERT_EQ(Find(table.rep.get(), "hot", snapshot),
                behind == there.begin() ? std::nullopt : std::optional<Sequence>(behind[-1]));
    }
  }
}

// Up to 256 versions are served by a short list head, more by a high one.
INSTANTIATE_TEST_SUITE_P(CountsAndOrders, RepVersionsTest,
                         testing::Combine(testing::Values(2u, 300u, Scaled(100'000, 20'000)),
                                          testing::Values(Order::kRising, Order::kFalling, Order::kShuffled)));

}  // namespace
}  // namespace strongbin
