// Readers that are interrupted between any two steps, while the writer goes on: with memory for its index, and without.
//
// One thread: the log that the reader looks into calls the writer at its n-th look, for every n.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/rocksdb/encoded_entry.h"
#include "strongbin/memtable/rocksdb/encoded_log.h"
#include "strongbin/memtable/table_core.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/rocksdb/rep_model.h"

namespace strongbin {
namespace {

class InterruptingLog : public EncodedLog {
 public:
  using EncodedLog::EncodedLog;

  uint64_t size() const {
    Look();
    const uint64_t size = EncodedLog::size();
    Look();
    return size;
  }
  uint32_t HandleAt(uint64_t number) const {
    EXPECT_LT(number, EncodedLog::size()) << "nobody may look at what is not published";
    Look();
    return EncodedLog::HandleAt(number);
  }
  const EncodedEntry* At(uint32_t handle) const {
    Look();
    return EncodedLog::At(handle);
  }

  // Calls `interrupt` once, after `looks` more.
  void InterruptAfter(uint64_t looks, std::function<void()> interrupt) {
    looks_ = looks;
    interrupt_ = std::move(interrupt);
  }
  // Whether it has been called. Disarms.
  bool Disarm() { return std::exchange(interrupt_, nullptr) == nullptr; }

 private:
  void Look() const {
    if (interrupt_ == nullptr || looks_-- > 0) return;
    std::exchange(interrupt_, nullptr)();
  }

  mutable uint64_t looks_ = 0;
  mutable std::function<void()> interrupt_;
};

struct InterruptingFace : EncodedFace {
  using Log = InterruptingLog;
};

// Refuses chunks for the index where told to.
class NoIndexSupply final : public ChunkSupply {
 public:
  Chunk Acquire(size_t min_bytes, ChunkKind kind) override {
    return refuses_index && kind == ChunkKind::k_index ? Chunk{} : pool_.Acquire(min_bytes, kind);
  }
  void TakeBack(std::span<const Chunk> chunks, ChunkFate fate) override { pool_.TakeBack(chunks, fate); }

  bool refuses_index = false;

 private:
  ChunkPool pool_;
};

// A table in the making: `entries` come in their order.
struct Story {
  const char* name;
  bool refuses_index;      // from the first entry on
  uint64_t ascending;      // entries at the start
  uint64_t distinct_keys;  // of those that follow
  uint64_t before;         // entries before the reader

  ModelKey KeyOf(uint64_t i) const {
    if (i < ascending) return {NumberKey(i, 12), i + 1};
    return {NumberKey(Scramble(i % distinct_keys), 20), i + 1};
  }
};

class Table {
 public:
  explicit Table(const Story& story) : story_(story) {
    supply_.refuses_index = story.refuses_index;
    while (model_.size() < story.before) AddNext();
  }

  void AddNext() {
    BeginNext();
    log_.Append(begun_);
  }
  // All of it but what shows it to readers.
  void BeginNext() {
    const uint64_t i = model_.size();
    const ModelKey key = story_.KeyOf(i);
    const FakeEntry entry{.key = key.key, .sequence = key.sequence, .value = "v"};
    const EncodedLog::Room room = log_.Allocate(EncodedBytes(entry));
    Encode(entry, room.data);
    EXPECT_TRUE(core_.AddOne(*log_.EncodedLog::At(room.handle)));
    begun_ = room.handle;
    model_.emplace(key, ModelValue{EntryKind::kPut, std::make_shared<const std::string>("v")});
  }
  void AddMany(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) AddNext();
  }
  // The writer has memory again and indexes what waited, beside what it adds.
  void Recover() {
    supply_.refuses_index = false;
    AddNext();
  }

  const Model& model() const { return model_; }
  InterruptingLog& log() { return log_; }
  const TableCore<InterruptingFace>& core() const { return core_; }

 private:
  const Story story_;
  NoIndexSupply supply_;
  InterruptingLog log_{&supply_};
  TableCore<InterruptingFace> core_{&supply_, log_, /*expected_keys=*/0};
  Model model_;
  uint32_t begun_ = 0;
};

enum class Interrupt : uint8_t { kBeginOne, kAddOne, kAddSome, kAddMany, kRecover };

class CoreInterleavingTest : public testing::TestWithParam<std::tuple<Story, Interrupt>> {
 protected:
  // Runs `read(table)` on a fresh table for every place at which it can be interrupted.
  template <class Read>
  static void InterruptEverywhere(const Read& read) {
    const auto& [story, interrupt] = GetParam();
    for (uint64_t looks = 0;; looks += Scaled(1, 5)) {
      SCOPED_TRACE("interrupted at look " + std::to_string(looks));
      Table table(story);
      table.log().InterruptAfter(looks, [&table, what = interrupt] {
        if (what == Interrupt::kBeginOne) table.BeginNext();
        if (what == Interrupt::kAddOne) table.AddNext();
        if (what == Interrupt::kAddSome) table.AddMany(11);
        if (what == Interrupt::kAddMany) table.AddMany(Scaled(300, 200));  // the index grows
        if (what == Interrupt::kRecover) table.Recover();
      });
      read(&table);
      if (!table.log().Disarm() || testing::Test::HasFatalFailure()) return;
      ASSERT_LT(looks, 5'000u);
    }
  }
};

// At a snapshot from before the interruption nothing is missed and nothing newer is seen.
TEST_P(CoreInterleavingTest, FindsShowWhatWasThereBefore) {
  const Story& story = std::get<0>(GetParam());
  for (uint64_t i = 0; i < story.before; ++i) {
    if (i < story.ascending && i % 13 != 0) continue;  // they are all alike
    const ModelKey key = story.KeyOf(i);
    InterruptEverywhere([&](Table* table) {
      const ModelEntry* expected = ModelGet(table->model(), key.key, story.before);
      const std::optional<uint32_t> handle = table->core().Find(key.key, story.before);
      ASSERT_TRUE(handle) << PrintableEntry(AsFakeEntry(*expected));
      ASSERT_TRUE(SameEntry(table->log().At(*handle)->bytes, expected));
    });
    if (HasFatalFailure()) return;
  }
}

TEST_P(CoreInterleavingTest, FindsNothingThatWasNeverThere) {
  InterruptEverywhere([&](Table* table) {
    for (const char* key : {"", "~"}) ASSERT_FALSE(table->core().Find(key, kMaxSequence)) << key;
  });
}

// Order needs no index, but it needs to know which entries are in the base.
TEST_P(CoreInterleavingTest, OrderedReadersShowWhatWasThereBeforeInOrder) {
  const Story& story = std::get<0>(GetParam());
  InterruptEverywhere([&](Table* table) {
    OrderedCursor<InterruptingFace> cursor(table->log());
    ASSERT_TRUE(table->core().SetSources(&cursor));
    uint64_t old_count = 0;
    std::optional<ModelKey> last;
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
      const FakeEntry shown = Decode(cursor.slot().bytes);
      ModelKey key{std::string(shown.key), shown.sequence};
      ASSERT_TRUE(!last || *last < key) << PrintableEntry(shown);
      ASSERT_TRUE(table->model().contains(key)) << PrintableEntry(shown);
      if (shown.sequence <= story.before) ++old_count;
      last = std::move(key);
    }
    ASSERT_EQ(old_count, story.before);
  });
}

constexpr Story kStories[] = {
    {"Ascending", false, 1'000, 1'000, 100},
    {"EndOfShortBase", false, 30, 1'000, 30},
    {"EndOfLongBase", false, 70, 1'000, 70},
    {"BehindShortBase", false, 30, 1'000, 33},
    {"BehindLongBase", false, 70, 1'000, 74},
    {"Random", false, 1, 1'000, 60},
    {"Versions", false, 1, 7, 60},
    {"NoIndexYet", true, 1, 1'000, 9},
    {"NoIndexWaitsLong", true, 1, 1'000, 30},
    {"NoIndexVersions", true, 1, 7, 30},
    {"NoIndexEndOfShortBase", true, 30, 1'000, 30},
    {"NoIndexBehindShortBase", true, 30, 1'000, 38},
};

std::string TestName(const testing::TestParamInfo<std::tuple<Story, Interrupt>>& test) {
  constexpr const char* kNames[] = {"BeginOne", "AddOne", "AddSome", "AddMany", "Recover"};
  return std::string(std::get<0>(test.param).name) + kNames[static_cast<size_t>(std::get<1>(test.param))];
}

INSTANTIATE_TEST_SUITE_P(Stories, CoreInterleavingTest,
                         testing::Combine(testing::ValuesIn(kStories),
                                          testing::Values(Interrupt::kBeginOne, Interrupt::kAddOne, Interrupt::kAddSome,
                                                          Interrupt::kAddMany, Interrupt::kRecover)),
                         TestName);

}  // namespace
}  // namespace strongbin
