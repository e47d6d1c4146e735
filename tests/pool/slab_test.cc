#include "strongbin/pool/slab.h"

#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/pool/chunk_source.h"

namespace strongbin {
namespace {

using Runs = std::vector<std::pair<size_t, size_t>>;

Runs RunsOf(const ChunkBits& bits) {
  Runs runs;
  ForEachRun(bits, [&](size_t first, size_t count) { runs.emplace_back(first, count); });
  return runs;
}

TEST(ChunkSourceTest, MappingsAreAlignedWhereverTheKernelPutsThem) {
  constexpr size_t kBytes = size_t{64} << 10, kAlignment = size_t{1} << 20;
  MmapChunkSource source;
  std::vector<char*> mapped;
  for (int i = 0; i < 5; ++i) {
    mapped.push_back(static_cast<char*>(source.Map(kBytes, kAlignment, /*huge_pages=*/false)));
    ASSERT_NE(mapped.back(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(mapped.back()) % kAlignment, 0u);
    mapped.back()[0] = mapped.back()[kBytes - 1] = 'x';
  }
  for (char* const room : mapped) {
    EXPECT_EQ(room[0], 'x');
    EXPECT_TRUE(source.Unmap(room, kBytes));
  }
}

TEST(SlabTest, RunsOfBitsAreFoundAcrossWords) {
  ChunkBits bits{};
  EXPECT_EQ(RunsOf(bits), Runs{});
  bits.fill(~uint64_t{0});
  EXPECT_EQ(RunsOf(bits), (Runs{{0, kMaxChunksPerSlab}}));
  bits.fill(0);
  bits[0] = uint64_t{1} << 63;
  bits[1] = 0b1011;
  bits[15] = uint64_t{1} << 63;
  EXPECT_EQ(RunsOf(bits), (Runs{{63, 3}, {67, 1}, {1023, 1}}));
}

TEST(SlabTest, RunsOfRandomBitsAgreeWithASearchBitByBit) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; round++) {
    ChunkBits bits{};
    for (uint64_t& word : bits) word = round % 2 == 0 ? random() & random() : random() | random() | random();
    Runs expected;
    for (size_t i = 0; i < kMaxChunksPerSlab; i++) {
      if ((bits[i / 64] >> (i % 64) & 1) == 0) continue;
      if (!expected.empty() && expected.back().first + expected.back().second == i) {
        expected.back().second++;
      } else {
        expected.emplace_back(i, 1);
      }
    }
    ASSERT_EQ(RunsOf(bits), expected);
  }
}

class SlabCarvingTest : public testing::Test {
 protected:
  static constexpr size_t kPageBytes = 4096;

  SlabCarvingTest() : slab_(Slab::Create(nullptr, nullptr, 0, kMinChunkBytes, kMaxChunksPerSlab)) {}
  ~SlabCarvingTest() override { Slab::Destroy(slab_); }

  size_t Carve(bool* was_resident) {
    ChunkRecord* record = slab_->Carve(was_resident);
    record->state = ChunkState::kLent;
    return static_cast<size_t>(record - slab_->record(0));
  }
  void Free(size_t index) { slab_->Free(slab_->record(index)); }
  Runs PlanAndFinish() {
    GiveBack give_back;
    if (!slab_->PlanGiveBack(kPageBytes, true, &give_back)) return {};
    give_back.left = give_back.leaving;
    slab_->FinishGiveBack(give_back);
    return RunsOf(give_back.leaving);
  }

  Slab* const slab_;
};

TEST_F(SlabCarvingTest, TheLowestChunkComesFirstAndResidentRoomBeforeAnyOther) {
  bool was_resident = true;
  for (size_t i = 0; i < 100; i++) {
    ASSERT_EQ(Carve(&was_resident), i);
    ASSERT_FALSE(was_resident);
  }
  Free(70);
  Free(10);
  EXPECT_EQ(Carve(&was_resident), 10u);
  EXPECT_TRUE(was_resident);
  EXPECT_EQ(Carve(&was_resident), 70u);
  EXPECT_TRUE(was_resident);
  EXPECT_EQ(Carve(&was_resident), 100u);
  EXPECT_FALSE(was_resident);
}

TEST_F(SlabCarvingTest, OnlyWholePagesLeaveAndNeighboursLeaveTogether) {
  bool was_resident = false;
  for (size_t i = 0; i < 20; i++) Carve(&was_resident);
  Free(1);
  Free(2);
  EXPECT_EQ(PlanAndFinish(), Runs{});  // halves of two pages
  Free(3);
  EXPECT_EQ(PlanAndFinish(), (Runs{{2, 2}}));
  Free(6);
  Free(7);
  Free(4);
  Free(5);
  EXPECT_EQ(PlanAndFinish(), (Runs{{4, 4}}));
  EXPECT_EQ(Carve(&was_resident), 1u);
  EXPECT_TRUE(was_resident);
  EXPECT_EQ(Carve(&was_resident), 2u);
  EXPECT_FALSE(was_resident);
}

TEST_F(SlabCarvingTest, TheFreeHalfOfALeavingPageIsShutToo) {
  bool was_resident = false;
  EXPECT_EQ(Carve(&was_resident), 0u);
  EXPECT_EQ(Carve(&was_resident), 1u);
  EXPECT_EQ(Carve(&was_resident), 2u);  // chunk 3 on the same page was never carved
  Free(2);
  GiveBack give_back;
  ASSERT_TRUE(slab_->PlanGiveBack(kPageBytes, true, &give_back));
  EXPECT_EQ(RunsOf(give_back.leaving), (Runs{{2, 2}}));
  EXPECT_EQ(Carve(&was_resident), 4u);
  give_back.left = give_back.leaving;
  EXPECT_EQ(slab_->FinishGiveBack(give_back), kMinChunkBytes) << "only what had been resident was returned";
  EXPECT_EQ(Carve(&was_resident), 2u);
}

TEST_F(SlabCarvingTest, ASlabThatIsFreeAsAWholeLeavesAsAWholeUnlessSomebodyKeepsIt) {
  bool was_resident = false;
  Carve(&was_resident);
  Free(0);
  GiveBack kept;
  ASSERT_TRUE(slab_->PlanGiveBack(kPageBytes, false, &kept));
  EXPECT_FALSE(kept.whole);
  EXPECT_EQ(RunsOf(kept.leaving), (Runs{{0, 2}}));
  GiveBack second;
  EXPECT_FALSE(slab_->PlanGiveBack(kPageBytes, true, &second)) << "while something leaves, the slab itself stays";
  slab_->FinishGiveBack(kept);  // refused: nothing has left
  GiveBack whole;
  ASSERT_TRUE(slab_->PlanGiveBack(kPageBytes, true, &whole));
  EXPECT_TRUE(whole.whole);
  EXPECT_EQ(slab_->FindRoom(), Slab::Room::kNone);
}

}  // namespace
}  // namespace strongbin
