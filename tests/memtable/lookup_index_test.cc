// The lookup index by itself, with hashes of the test's choice.
#include "strongbin/memtable/lookup_index.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_log.h"
#include "strongbin/memtable/entry.h"
#include "strongbin/tests/memtable/fixtures.h"

namespace strongbin {
namespace {

using Index = LookupIndex<EntryFace>;
using HashOf = std::function<uint64_t(uint64_t)>;

// Hashes whose 31 upper bits are those that the index looks at: the highest choose the segment, the lowest the home
// line.
constexpr uint64_t FromHash31(uint64_t hash31) { return hash31 << 33; }

class LookupIndexTest : public testing::Test {
 protected:
  // Appends key `number` (8 bytes) and makes it findable.
  Index::Outcome Insert(uint64_t number, uint64_t hash, Sequence sequence = 1, bool is_newest = false) {
    const uint64_t position = log_.writer_size();
    if (!log_.EnsureRoom(1)) return Index::Outcome::kOutOfMemory;
    auto* entry = new (log_.At(position)) Entry{.tag = EntryFace::MakeTag(sequence, EntryKind::kPut),
                                                .inline_key = {},
                                                .key = ByteRef::Near(nullptr, 8),
                                                .value = ByteRef::Near(nullptr, 0)};
    std::memcpy(entry->inline_key, &number, 8);
    const Index::Outcome outcome = index_.Insert(hash, static_cast<uint32_t>(position), is_newest);
    if (outcome == Index::Outcome::kNewKey || outcome == Index::Outcome::kNewVersion) log_.Publish(1);
    return outcome;
  }
  std::optional<uint32_t> Find(uint64_t number, uint64_t hash, Sequence snapshot = kMaxSequence) const {
    char bytes[8];
    std::memcpy(bytes, &number, 8);
    const std::string_view key(bytes, 8);
    return index_.Find(hash, key, KeyPrefix(key), snapshot);
  }

  // Inserts and proves each key findable now and then, all of them in the end, and no others.
  void FillAndFind(uint64_t count, const HashOf& hash_of) {
    Random random(5);
    std::unordered_set<uint64_t> hashes;  // as the index has them
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_FALSE(Find(i, hash_of(i)));
      const bool is_new_hash = hashes.insert(std::max<uint64_t>(hash_of(i) >> 33, 1)).second;
      ASSERT_EQ(Insert(i, hash_of(i)), is_new_hash ? Index::Outcome::kNewKey : Index::Outcome::kNewVersion);
      ASSERT_EQ(Find(i, hash_of(i)), i);
      const uint64_t some = Below(&random, i + 1);
      ASSERT_EQ(Find(some, hash_of(some)), some);
      ASSERT_EQ(Insert(some, hash_of(some)), Index::Outcome::kDuplicate);
    }
    for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(Find(i, hash_of(i)), i);
    EXPECT_EQ(index_.key_count(), hashes.size());
    EXPECT_EQ(log_.reserved_bytes() + index_.reserved_bytes(), LentBytes(pool_));
    EXPECT_LE(index_.used_bytes(), index_.reserved_bytes());
  }

  ChunkPool pool_;
  AppendLog<Entry> log_{&pool_, ChunkKind::k_log};
  Index index_{&pool_, log_, 0};
};

TEST_F(LookupIndexTest, EmptyIndexHoldsNoChunkAndFindsNothing) {
  EXPECT_TRUE(index_.empty());
  EXPECT_FALSE(Find(1, 1));
  EXPECT_EQ(index_.reserved_bytes(), 0u);
}

TEST_F(LookupIndexTest, GrowsThroughEnlargingSplittingAndDoubling) {
  FillAndFind(Scaled(1'000'000, 100'000), Scramble);
  EXPECT_LE(index_.longest_chain_slots(), 800u);  // segments are up to 13/16 full
  // A slot takes 8 bytes; segments are between 13/32 and 13/16 full, and old directories and small segments stay
  // behind.
  EXPECT_LE(index_.reserved_bytes(), index_.key_count() * 8 * 32 / 13 * 3 / 2);
}

TEST_F(LookupIndexTest, AscendingHashesFillOneSegmentAfterAnother) {
  FillAndFind(50'000, [](uint64_t i) { return FromHash31(i * 20'011); });
}

TEST_F(LookupIndexTest, KeysWithOneHashAreAllFound) {
  FillAndFind(3'000, [](uint64_t) { return FromHash31(0x7ABCDEF1); });  // fits the largest segment
}

TEST_F(LookupIndexTest, KeysWithOneHomeLineAreAllFound) {
  FillAndFind(3'000,
              [](uint64_t i) { return FromHash31((Scramble(i) & 0x7FFFFE00) | 511); });  // wraps round the segment
}

// 22 doublings of the directory, and then segments above the usual size: only hashes made on purpose go there.
TEST_F(LookupIndexTest, KeysThatShareAllDirectoryBitsAreAllFound) {
  FillAndFind(8'000, [](uint64_t i) { return FromHash31(0x55555400 | (Scramble(i) & 0x1FF)); });
}

TEST_F(LookupIndexTest, KeysThatShareManyUpperBitsAreAllFound) {
  FillAndFind(20'000, [](uint64_t i) { return FromHash31(0x40000000 | (Scramble(i) & 0x1FFFF)); });
}

TEST_F(LookupIndexTest, VersionsStayFoundWhileTheirSlotsMove) {
  constexpr uint64_t kKeys = 20'000, kVersions = 4;
  for (Sequence version = 1; version <= kVersions; ++version) {
    for (uint64_t key = 0; key < kKeys; ++key) {
      const uint64_t before = log_.writer_size();
      ASSERT_EQ(Insert(key, Scramble(key), 2 * version),
                version == 1 ? Index::Outcome::kNewKey : Index::Outcome::kNewVersion);
      ASSERT_EQ(Find(key, Scramble(key)), before);
    }
  }
  for (uint64_t key = 0; key < kKeys; ++key) {
    ASSERT_FALSE(Find(key, Scramble(key), 1));
    for (Sequence version = 1; version <= kVersions; ++version) {
      ASSERT_EQ(Find(key, Scramble(key), 2 * version + 1), (version - 1) * kKeys + key);
    }
  }
}

TEST_F(LookupIndexTest, DeadVersionsAreNeverFound) {
  const auto kill = [&](uint64_t position) { log_.At(position)->tag.fetch_or(EntryFace::kDeadBit); };
  ASSERT_EQ(Insert(1, 7, 10), Index::Outcome::kNewKey);
  kill(0);
  EXPECT_FALSE(Find(1, 7));
  ASSERT_EQ(Insert(1, 7, 10), Index::Outcome::kNewVersion);  // the dead one is no duplicate
  EXPECT_EQ(Find(1, 7), 1u);
  EXPECT_EQ(Insert(1, 7, 10), Index::Outcome::kDuplicate);
  ASSERT_EQ(Insert(1, 7, 20), Index::Outcome::kNewVersion);
  kill(2);
  EXPECT_EQ(Find(1, 7), 1u);
  ASSERT_EQ(Insert(1, 7, 20), Index::Outcome::kNewVersion);
  EXPECT_EQ(Find(1, 7), 3u);
  kill(1);
  EXPECT_FALSE(Find(1, 7, 15));
}

// Keys that share a hash share a list: each is found by its own versions alone, whatever came between them.
TEST_F(LookupIndexTest, KeysWithOneHashKeepTheirVersionsApart) {
  for (const bool told_the_newest : {true, false}) {
    const uint64_t hash = FromHash31(told_the_newest ? 0x1234567 : 0x7654321);
    constexpr uint64_t kKeys = 5;
    std::map<std::pair<uint64_t, Sequence>, uint32_t> model;  // by key and ~sequence
    Random random(11);
    const Sequence first = log_.writer_size() + 1, last = first + 3'000;
    for (Sequence sequence = first; sequence < last; ++sequence) {
      const uint64_t key = Below(&random, kKeys);
      const uint64_t position = log_.writer_size();
      const Index::Outcome outcome = Insert(key, hash, sequence, told_the_newest);
      ASSERT_EQ(outcome, sequence == first ? Index::Outcome::kNewKey : Index::Outcome::kNewVersion);
      model[{key, ~sequence}] = static_cast<uint32_t>(position);
    }
    for (int i = 0; i < 3'000; ++i) {
      const uint64_t key = Below(&random, kKeys + 1);
      const Sequence snapshot = first - 1 + Below(&random, last - first + 2);
      const auto wanted = model.lower_bound({key, ~snapshot});
      const bool is_there = wanted != model.end() && wanted->first.first == key;
      ASSERT_EQ(Find(key, hash, snapshot), is_there ? std::optional(wanted->second) : std::nullopt)
          << key << ' ' << snapshot;
    }
    // What arrives late finds its place, and no duplicate one.
    EXPECT_EQ(Insert(kKeys, hash, first + 7), Index::Outcome::kNewVersion);
    EXPECT_EQ(Insert(kKeys, hash, first + 7), Index::Outcome::kDuplicate);
    EXPECT_TRUE(Find(kKeys, hash, first + 7));
    EXPECT_FALSE(Find(kKeys, hash, first + 6));
  }
}

TEST(LookupIndexMemoryTest, RefusedMemoryLeavesAllThatWasFindable) {
  RefusingSource source;
  ChunkPool pool(UnpooledFrom(&source));
  ChunkPool log_pool;
  AppendLog<Entry> log(&log_pool, ChunkKind::k_log);
  Index index(&pool, log, 0);
  Random random(9);
  uint64_t refusals = 0;
  const auto key_of = [](const uint64_t& number) {
    return std::string_view(reinterpret_cast<const char*>(&number), 8);
  };
  for (uint64_t i = 0; i < 30'000; ++i) {
    ASSERT_TRUE(log.EnsureRoom(1));
    auto* entry = new (log.At(i)) Entry{.tag = EntryFace::MakeTag(1, EntryKind::kPut),
                                        .inline_key = {},
                                        .key = ByteRef::Near(nullptr, 8),
                                        .value = ByteRef::Near(nullptr, 0)};
    std::memcpy(entry->inline_key, &i, 8);
    for (int64_t granted = 0;; ++granted) {
      source.RefuseAfter(granted);
      const Index::Outcome outcome = index.Insert(Scramble(i), static_cast<uint32_t>(i), /*is_newest=*/true);
      if (outcome == Index::Outcome::kNewKey) break;
      ASSERT_EQ(outcome, Index::Outcome::kOutOfMemory);
      ++refusals;
      ASSERT_FALSE(index.Find(Scramble(i), key_of(i), KeyPrefix(key_of(i)), 1));
      for (int probe = 0; probe < 50 && i > 0; ++probe) {
        const uint64_t some = Below(&random, i);
        ASSERT_EQ(index.Find(Scramble(some), key_of(some), KeyPrefix(key_of(some)), 1), some);
      }
    }
    log.Publish(1);
  }
  EXPECT_GT(refusals, 20u);
  for (uint64_t i = 0; i < 30'000; ++i) ASSERT_EQ(index.Find(Scramble(i), key_of(i), KeyPrefix(key_of(i)), 1), i);
}

class LookupIndexReadersTest : public LookupIndexTest, public testing::WithParamInterface<uint64_t> {};

// Readers hold a count that the writer published; whatever was inserted before must be found, whatever grows meanwhile.
TEST_P(LookupIndexReadersTest, PublishedKeysAreFoundWhileTheIndexGrows) {
  const uint64_t count = WideTests() ? 4'000'000 : Scaled(1'000'000, 150'000);
  const uint64_t mask = GetParam();
  const auto hash_of = [mask](uint64_t i) { return FromHash31((Scramble(i) >> 33) & mask); };
  std::atomic<uint64_t> published{0};
  std::atomic<uint64_t> missed{0};
  std::vector<std::thread> readers;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    readers.emplace_back([&, seed] {
      Random random(seed);
      for (;;) {
        const uint64_t known = published.load(std::memory_order_acquire);
        if (known == count) return;
        if (known == 0) continue;
        // Mostly among the newest, which move most.
        const uint64_t some =
            OneIn(&random, 2) ? Below(&random, known) : known - 1 - Below(&random, std::min<uint64_t>(known, 5000));
        if (Find(some, hash_of(some)) != some) missed.fetch_add(1);
        if (Find(some + count, hash_of(some))) missed.fetch_add(1);  // a key that never comes, with a hash that does
      }
    });
  }
  for (uint64_t i = 0; i < count; ++i) {
    // The sequence says that it is the newest; now and then nobody knows.
    const Index::Outcome outcome = Insert(i, hash_of(i), i + 1, /*is_newest=*/i % 16 != 0);
    if (outcome != Index::Outcome::kNewKey && outcome != Index::Outcome::kNewVersion) missed.fetch_add(1);
    published.store(i + 1, std::memory_order_release);
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(missed.load(), 0u);
}

// All hashes; hashes with few directory bits, so that segments split often and lie side by side.
INSTANTIATE_TEST_SUITE_P(HashMasks, LookupIndexReadersTest, testing::Values(0x7FFFFFFF, 0x701FFFFF));

}  // namespace
}  // namespace strongbin
