// What the eight ways to insert promise.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/rocksdb/fake_engine.h"
#include "strongbin/tests/memtable/rocksdb/rep_fillings.h"
#include "strongbin/tests/memtable/rocksdb/rep_model.h"

namespace strongbin {
namespace {

class RepInsertTest : public testing::TestWithParam<Filling> {
 protected:
  RepInsertTest() { Fill(table_.rep.get(), &model_, GetParam()); }

  Rep* rep() { return table_.rep.get(); }
  uint64_t entries() const { return table_.Stats().entries; }

  ChunkPool pool_;
  FakeMemTable table_{&pool_};
  Model model_;
};

TEST_P(RepInsertTest, EachCallMakesItsEntryReadable) {
  Sequence sequence = 10'000;
  for (const InsertCall& call : kInsertCalls) {
    for (const std::string& key : {std::string(call.name), std::string("hot"), std::string(NumberKey(3, 12))}) {
      const ModelValue value{EntryKind::kMerge, std::make_shared<const std::string>(call.name)};
      ASSERT_TRUE(AddToBoth(rep(), &model_, {key, ++sequence}, value, call)) << call.name;
      ASSERT_TRUE(SameVersions(rep(), model_, key)) << call.name;
    }
  }
  ASSERT_TRUE(SameContent(table_.rep.get(), model_));
  EXPECT_EQ(entries(), model_.size());
}

// Whatever the type byte: a delete with the key and sequence of a put is the same entry to RocksDB.
TEST_P(RepInsertTest, DuplicatesAreRefusedByEveryCallAndAreNotShown) {
  ASSERT_TRUE(AddToBoth(rep(), &model_, "some key", 20'000, "first"));
  const Model before = model_;
  for (const InsertCall& call : kInsertCalls) {
    for (const auto& [key, value] : before) {
      for (const uint8_t type : {uint8_t{0}, uint8_t{1}, uint8_t{7}}) {
        const bool is_new =
            AddEntry(rep(), {.key = key.key, .sequence = key.sequence, .value = "second", .type = type}, call);
        ASSERT_EQ(is_new, !call.answers) << call.name << " of " << Printable(key.key) << "@" << key.sequence;
      }
    }
  }
  EXPECT_EQ(entries(), model_.size());
  ASSERT_TRUE(SameContent(table_.rep.get(), model_));
}

// Only after a look at the whole key and the whole sequence.
TEST_P(RepInsertTest, NeighboursOfAnEntryAreNoDuplicates) {
  const auto expect_new = [&](const std::string& key, Sequence sequence) {
    ASSERT_TRUE(AddToBoth(rep(), &model_, key, sequence)) << Printable(key) << "@" << sequence;
  };
  expect_new("abcdefgh", 30'000);
  expect_new("abcdefg", 30'000);
  expect_new(std::string("abcdefgh\0", 9), 30'000);
  expect_new(std::string("abcdefgh\0\0", 10), 30'000);
  expect_new("abcdefgi", 30'000);
  expect_new("abcdefghi", 30'000);
  expect_new("", 30'000);
  expect_new("abcdefgh", 29'999);
  expect_new("abcdefgh", 30'001);
  expect_new("abcdefgh", 0);
  expect_new("abcdefgh", kMaxSequence);
  ASSERT_TRUE(SameContent(table_.rep.get(), model_));
}

TEST_P(RepInsertTest, SequencesOfOneKeyComeInAnyOrder) {
  constexpr uint64_t kVersions = 60;
  Random random(11);
  for (const char* order : {"rising", "falling", "shuffled"}) {
    std::vector<Sequence> sequences(kVersions);
    std::iota(sequences.begin(), sequences.end(), 40'000);
    if (std::strcmp(order, "falling") == 0) std::reverse(sequences.begin(), sequences.end());
    if (std::strcmp(order, "shuffled") == 0) std::shuffle(sequences.begin(), sequences.end(), random);
    for (const Sequence sequence : sequences) {
      ASSERT_TRUE(AddToBoth(rep(), &model_, order, sequence, std::to_string(sequence)));
      ASSERT_TRUE(SameVersions(rep(), model_, order)) << order;
      // In between, an entry of another key.
      ASSERT_TRUE(AddToBoth(rep(), &model_, NumberKey(random(), 20), sequence));
    }
  }
  ASSERT_TRUE(SameContent(table_.rep.get(), model_));
}

// Mempurge writes old sequences into a new memtable: older than all, and between what is there.
TEST_P(RepInsertTest, OlderSequencesComeAfterNewerOnes) {
  const Model before = model_;
  for (const auto& [key, value] : before) {
    ASSERT_TRUE(AddToBoth(rep(), &model_, key.key, key.sequence / 2, "older"));
    ASSERT_FALSE(AddToBoth(rep(), &model_, key.key, key.sequence / 2, "older"));
    ASSERT_FALSE(AddToBoth(rep(), &model_, key.key, key.sequence, "again"));
  }
  ASSERT_TRUE(SameContent(table_.rep.get(), model_));
}

TEST_P(RepInsertTest, HintsAreLeftAsTheyAre) {
  int target = 0;
  Sequence sequence = 50'000;
  for (const InsertCall& call : kInsertCalls) {
    for (void* const given : {static_cast<void*>(nullptr), static_cast<void*>(&target)}) {
      void* hint = given;
      ASSERT_TRUE(call.insert(*rep(), AllocateEntry(rep(), {.key = "hinted", .sequence = ++sequence}), &hint));
      EXPECT_EQ(hint, given) << call.name;
    }
  }
}

TEST_P(RepInsertTest, AllocationsThatAreNeverInsertedAreCountedAndHarmless) {
  const uint64_t waiting_before = table_->unappended_count();
  EXPECT_EQ(waiting_before, 0u);
  for (uint64_t i = 0; i < 100; ++i) {
    char* buffer = nullptr;
    table_->Allocate(1 + i * 37, &buffer);
    std::memset(buffer, 0xEE, 1 + i * 37);  // all of it is the caller's
    if (i % 3 == 0) {
      ASSERT_TRUE(AddToBoth(rep(), &model_, NumberKey(Scramble(i), 16), 60'000 + i));
    }
  }
  EXPECT_EQ(table_->unappended_count(), 100u);
  // A duplicate has been allocated too.
  ASSERT_FALSE(AddToBoth(rep(), &model_, NumberKey(Scramble(0), 16), 60'000));
  EXPECT_EQ(table_->unappended_count(), 101u);
  ASSERT_TRUE(SameContent(table_.rep.get(), model_));
  EXPECT_EQ(entries(), model_.size());
  table_.End();
  EXPECT_EQ(table_.listener->unappended_at_end, 101u);
  EXPECT_EQ(LentBytes(pool_), 0u);
}

// Parallel writers each allocate, fill and insert; their inserts come in another order than their allocations.
TEST_P(RepInsertTest, HandlesAreInsertedInAnyOrder) {
  struct Allocated {
    ModelKey key;
    ROCKSDB_NAMESPACE::KeyHandle handle;
  };
  std::vector<Allocated> allocated;
  for (uint64_t i = 0; i < 3'000; ++i) {
    const ModelKey key{NumberKey(Scramble(i % 1'000), 16), 70'000 + i};
    allocated.push_back({key, AllocateEntry(rep(), {.key = key.key, .sequence = key.sequence, .value = key.key})});
  }
  EXPECT_EQ(table_->unappended_count(), allocated.size());
  Random random(3);
  std::shuffle(allocated.begin(), allocated.end(), random);
  for (const Allocated& each : allocated) {
    ASSERT_TRUE(rep()->InsertKeyConcurrently(each.handle));
    model_.emplace(each.key, ModelValue{EntryKind::kPut, std::make_shared<const std::string>(each.key.key)});
  }
  EXPECT_EQ(table_->unappended_count(), 0u);
  ASSERT_TRUE(SameContent(table_.rep.get(), model_));
}

// RocksDB checks an entry by what lies behind its value (memtable_protection_bytes_per_key).
TEST_P(RepInsertTest, BytesBehindTheValueAreKept) {
  for (uint64_t i = 0; i < 500; ++i) {
    const std::string key = "protected " + std::to_string(i);
    ASSERT_TRUE(AddEntry(rep(), {.key = key, .sequence = 80'000, .value = key, .checksum_bytes = 8}));
  }
  for (uint64_t i = 0; i < 500; ++i) {
    const std::string key = "protected " + std::to_string(i);
    const char* entry = FirstVersion(rep(), key);
    ASSERT_NE(entry, nullptr);
    const FakeEntry found = Decode(entry);
    ASSERT_EQ(found.value, key);
    ASSERT_EQ(std::string_view(found.value.data() + found.value.size(), 8), std::string(8, kChecksumByte));
  }
}

// With inplace_update_support RocksDB shortens and rewrites values inside the entries that it finds.
TEST_P(RepInsertTest, ValuesMayBeRewrittenInPlace) {
  ASSERT_TRUE(AddToBoth(rep(), &model_, "in place", 90'000, "a value that will change"));
  const char* entry = FirstVersion(rep(), "in place");
  ASSERT_NE(entry, nullptr);
  const FakeEntry old = Decode(entry);
  char* value = const_cast<char*>(old.value.data());
  value[-1] = 3;  // its length
  std::memcpy(value, "new", 3);
  model_[{"in place", 90'000}].bytes = std::make_shared<const std::string>("new");
  EXPECT_FALSE(AddToBoth(rep(), &model_, "in place", 90'000, "duplicate still"));
  ASSERT_TRUE(SameContent(table_.rep.get(), model_));
}

INSTANTIATE_TEST_SUITE_P(Fillings, RepInsertTest, testing::ValuesIn(kFillings), FillingName);

}  // namespace
}  // namespace strongbin
