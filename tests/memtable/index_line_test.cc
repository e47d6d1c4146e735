// One line of the lookup index beside a model of it.
#include "strongbin/memtable/index_line.h"

#include <array>
#include <cstdint>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/fixtures.h"

namespace strongbin {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr uint32_t kHashMask = IndexLine::kHashMask;

std::set<size_t> SlotsOf(uint64_t bits) {
  std::set<size_t> slots;
  for (; bits != 0; bits &= bits - 1) slots.insert(IndexLine::Lowest(bits));
  return slots;
}

struct Model {
  std::array<uint32_t, IndexLine::kSlots> hashes{};
  std::array<uint32_t, IndexLine::kSlots> values{};
  bool is_passed = false;
};

void ExpectEqual(const IndexLine& line, const Model& model) {
  std::set<uint32_t> wanted{1, 2, kHashMask, kHashMask - 1, 0x40000000, 0x3FFFFFFF};
  wanted.insert(model.hashes.begin(), model.hashes.end());
  wanted.erase(0);
  for (const uint32_t hash : wanted) {
    std::set<size_t> matches, unused;
    for (size_t slot = 0; slot < IndexLine::kSlots; ++slot) {
      if (model.hashes[slot] == hash) matches.insert(slot);
      if (model.hashes[slot] == 0) unused.insert(slot);
    }
    const IndexLine::View view = line.LookFor(hash, kRelaxed);
    ASSERT_EQ(SlotsOf(view.matches), matches) << hash;
    ASSERT_EQ(SlotsOf(view.unused), unused);
    ASSERT_EQ(view.is_passed, model.is_passed);
  }
  for (size_t slot = 0; slot < IndexLine::kSlots; ++slot) {
    ASSERT_EQ(line.HashAt(slot, kRelaxed), model.hashes[slot]);
    ASSERT_TRUE(line.Holds(slot, model.hashes[slot]));
    if (model.hashes[slot] != 0) {
      ASSERT_EQ(line.ValueAt(slot, kRelaxed), model.values[slot]);
    }
  }
}

// Hashes that carries and borrows would go wrong with, and any.
uint32_t SomeHash(Random* random) {
  constexpr std::array<uint32_t, 6> kEdges = {1, 2, kHashMask, kHashMask - 1, 0x40000000, 0x3FFFFFFF};
  if (OneIn(random, 2)) return kEdges[Below(random, kEdges.size())];
  return 1 + static_cast<uint32_t>(Below(random, kHashMask));
}

TEST(IndexLineTest, LooksAsItsModelDoes) {
  Random random(3);
  for (int round = 0; round < 2'000; ++round) {
    IndexLine line;
    Model model;
    for (size_t step = 0; step <= 2 * IndexLine::kSlots; ++step) {
      ExpectEqual(line, model);
      if (OneIn(&random, 4)) line.SetPassed(model.is_passed = OneIn(&random, 2));
      const uint64_t unused = line.LookFor(1, kRelaxed).unused;
      if (unused == 0) break;
      const size_t slot = IndexLine::Lowest(unused);
      model.hashes[slot] = SomeHash(&random);
      model.values[slot] = static_cast<uint32_t>(random());
      line.Fill(slot, model.hashes[slot], model.values[slot]);
      if (OneIn(&random, 3)) line.SetValue(slot, model.values[slot] = static_cast<uint32_t>(random()));
      if (const size_t any = Below(&random, IndexLine::kSlots); OneIn(&random, 5)) {
        line.Clear(any);
        model.hashes[any] = 0;
      }
    }
  }
}

TEST(IndexLineTest, EveryBitPartsALineInTwo) {
  Random random(4);
  for (int bit = 0; bit < 31; ++bit) {
    for (int round = 0; round < 100; ++round) {
      IndexLine line;
      Model kept, moved;
      kept.is_passed = moved.is_passed = OneIn(&random, 2);
      line.SetPassed(kept.is_passed);
      uint32_t moved_count = 0;
      for (size_t slot = 0; slot < IndexLine::kSlots; ++slot) {
        if (OneIn(&random, 3)) continue;
        const uint32_t hash = SomeHash(&random), value = static_cast<uint32_t>(random());
        line.Fill(slot, hash, value);
        const bool moves = (hash >> bit & 1) != 0;
        moved_count += moves;
        (moves ? moved : kept).hashes[slot] = hash;
        (moves ? moved : kept).values[slot] = value;
      }
      IndexLine other;
      ASSERT_EQ(other.TakeHalfOf(line, bit), moved_count);
      line.LetGoOfHalf(bit);
      ExpectEqual(line, kept);
      ExpectEqual(other, moved);
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << "bit " << bit;
    }
  }
}

}  // namespace
}  // namespace strongbin
