// What the window of sequence numbers may say and what it must say.
#include "strongbin/memtable/sequence_window.h"

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

constexpr uint64_t kSureWindow = 15 * 64;  // numbers that are remembered in any case

TEST(SequenceWindowTest, RisingSequencesAreNewEachOnce) {
  for (const Sequence first : {Sequence{0}, Sequence{1}, Sequence{63}, Sequence{1'000'000}, kMaxSequence - 5'000}) {
    SequenceWindow window;
    for (Sequence sequence = first; sequence < first + 5'000; ++sequence) {
      ASSERT_TRUE(window.NoteNew(sequence)) << sequence;
      ASSERT_FALSE(window.NoteNew(sequence)) << sequence;
    }
  }
}

TEST(SequenceWindowTest, TheFirstAndTheLastSequence) {
  SequenceWindow window;
  EXPECT_TRUE(window.NoteNew(0));
  EXPECT_FALSE(window.NoteNew(0));
  EXPECT_TRUE(window.NoteNew(kMaxSequence));
  EXPECT_FALSE(window.NoteNew(kMaxSequence));
  EXPECT_FALSE(window.NoteNew(0));
  EXPECT_TRUE(window.NoteNew(kMaxSequence - 1));
}

// As those of parallel writers come. If they were searched for, nothing would be wrong but the speed.
TEST(SequenceWindowTest, SequencesThatComeAlmostInOrderAreNew) {
  Random random(1);
  std::vector<Sequence> sequences;
  for (Sequence sequence = 100; sequence < 20'000; ++sequence) sequences.push_back(sequence);
  for (size_t i = 0; i + 64 < sequences.size(); i += 64) {
    std::shuffle(sequences.begin() + static_cast<std::ptrdiff_t>(i),
                 sequences.begin() + static_cast<std::ptrdiff_t>(i) + 64, random);
  }
  SequenceWindow window;
  for (const Sequence sequence : sequences) ASSERT_TRUE(window.NoteNew(sequence)) << sequence;
}

TEST(SequenceWindowTest, TheHighestIsAboveAllThatWasNotedInWhicheverWay) {
  SequenceWindow window;
  EXPECT_TRUE(window.NoteHighest(0));
  EXPECT_FALSE(window.NoteHighest(0));
  EXPECT_TRUE(window.NoteHighest(10));
  EXPECT_TRUE(window.NoteNew(10)) << "noted for the other question alone";
  EXPECT_FALSE(window.NoteHighest(5));
  EXPECT_TRUE(window.NoteNew(20));
  EXPECT_FALSE(window.NoteHighest(20));
  EXPECT_TRUE(window.NoteHighest(21));
  window.NoteAllUpTo(5'000);
  EXPECT_FALSE(window.NoteHighest(5'000));
  EXPECT_TRUE(window.NoteHighest(5'001));
  EXPECT_FALSE(window.NoteNew(3)) << "long ago";
  EXPECT_TRUE(window.NoteHighest(kMaxSequence));
  EXPECT_FALSE(window.NoteHighest(kMaxSequence));
}

TEST(SequenceWindowTest, WhatIsNewHasNeverBeenNoted) {
  for (const uint64_t most_back : {10u, 900u, 1'100u, 5'000u}) {
    Random random(most_back);
    SequenceWindow window;
    std::unordered_set<Sequence> noted;
    Sequence newest = 0, all_up_to = 0;
    bool all_noted = false;
    for (int i = 0; i < 30'000; ++i) {
      Sequence sequence = newest - std::min<Sequence>(newest, Below(&random, most_back));
      if (OneIn(&random, 3)) sequence = newest + Below(&random, 4);
      if (OneIn(&random, 2'000)) sequence = newest + Below(&random, 5'000);
      const bool may_be_there = noted.contains(sequence) || (all_noted && sequence <= all_up_to);
      const bool is_remembered = sequence + kSureWindow > newest && !(all_noted && sequence <= all_up_to);
      const bool is_new = window.NoteNew(sequence);
      ASSERT_FALSE(is_new && may_be_there) << sequence;
      ASSERT_TRUE(is_new || !is_remembered || may_be_there) << sequence << " of " << newest;
      noted.insert(sequence);
      newest = std::max(newest, sequence);
      if (OneIn(&random, 1'000)) {
        all_noted = true;
        all_up_to = std::max(all_up_to, newest + Below(&random, 20) - std::min<Sequence>(newest, 10));
        window.NoteAllUpTo(all_up_to);
      }
    }
  }
}

TEST(SequenceWindowTest, NothingUpToANotedBoundIsNew) {
  SequenceWindow window;
  window.NoteAllUpTo(100);
  EXPECT_FALSE(window.NoteNew(0));
  EXPECT_FALSE(window.NoteNew(100));
  EXPECT_TRUE(window.NoteNew(101));
  window.NoteAllUpTo(50);  // a lower bound takes nothing back
  EXPECT_FALSE(window.NoteNew(99));
  window.NoteAllUpTo(kMaxSequence);
  EXPECT_FALSE(window.NoteNew(kMaxSequence));
}

}  // namespace
}  // namespace strongbin
