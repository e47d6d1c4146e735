// When a pool that makes slabs ahead asks for huge pages, and when it has found them too dear.
#include "strongbin/pool/page_choice.h"

#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/stats/thread_cpu.h"
#include "strongbin/tests/pool/pool_test_util.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr uint64_t kClearedNs = 200'000;    // a huge page that the kernel had at hand
constexpr uint64_t kDearNs = 5'000'000;     // one that it had not
constexpr uint64_t kSmallNs = 700'000;      // 512 small pages
constexpr uint64_t kMaxSmallInARow = 1000;  // more than there can be

TEST(PageChoiceTest, CheapHugePagesAreTakenAndNothingElseTried) {
  PageChoice choice;
  for (int i = 0; i < 100; i++) {
    ASSERT_TRUE(choice.WantsHuge());
    choice.Note(/*huge=*/true, kClearedNs);
  }
}

TEST(PageChoiceTest, DearHugePagesGiveWayToSmallOnesAndAreTriedAgainNowAndThen) {
  PageChoice choice;
  choice.Note(/*huge=*/true, kDearNs);
  for (int round = 0; round < 3; round++) {
    uint64_t small_count = 0;
    for (; !choice.WantsHuge() && small_count < kMaxSmallInARow; small_count++) {
      choice.Note(/*huge=*/false, kSmallNs);
    }
    EXPECT_GE(small_count, 16u) << "a dear one among few";
    ASSERT_LT(small_count, kMaxSmallInARow) << "never again";
    choice.Note(/*huge=*/true, kDearNs);
  }
  while (!choice.WantsHuge()) choice.Note(/*huge=*/false, kSmallNs);
  choice.Note(/*huge=*/true, kClearedNs);
  EXPECT_TRUE(choice.WantsHuge()) << "cheap again";
}

TEST(PageChoiceTest, WhereSmallPagesAreDearTooHugeOnesStay) {
  PageChoice choice;
  choice.Note(/*huge=*/true, kDearNs);
  ASSERT_FALSE(choice.WantsHuge()) << "the price of small ones is not known yet";
  choice.Note(/*huge=*/false, kDearNs - 1);
  EXPECT_TRUE(choice.WantsHuge());
}

TEST(PageChoiceTest, APriceOfNothingIsAPrice) {
  PageChoice choice;
  choice.Note(/*huge=*/true, kDearNs);
  choice.Note(/*huge=*/false, 0);
  EXPECT_FALSE(choice.WantsHuge());
}

// Making a huge slab takes its thread as long as a test says, and a slab of small pages nothing.
class PricedSource final : public TestSource {
 public:
  void* Map(size_t bytes, size_t alignment, bool huge_pages) override {
    void* ptr = TestSource::Map(bytes, alignment, huge_pages);
    is_huge_[ptr] = huge_pages;
    return ptr;
  }
  void Populate(void* ptr, size_t) override {
    const auto mapping = is_huge_.find(ptr);
    if (mapping == is_huge_.end() || !mapping->second) return;
    const uint64_t end_ns = ThreadCpuNs() + huge_ns;
    while (ThreadCpuNs() < end_ns) {
    }
  }

  uint64_t huge_ns = 0;

 private:
  std::map<void*, bool> is_huge_;
};

struct Maps {
  uint64_t huge = 0;
  uint64_t small = 0;
};

// Fills 32 MiB of the largest class; what is made ahead is made by this thread.
Maps MapsOf(PricedSource* source, const ColdStart& cold_start) {
  ChunkPoolOptions options = PoolOptions(64 * kMiB, source);
  options.cold_start = cold_start;
  options.clock_ns = [] { return uint64_t{1}; };
  ChunkPool pool(options);
  std::vector<Chunk> lent;
  while (lent.size() < 32) {
    lent.push_back(pool.Acquire(kMiB, ChunkKind::k_key));
    pool.MakeAhead();
  }
  const Maps maps = {source->huge_maps, source->small_page_maps};
  ChunkPool::Drop(lent);
  return maps;
}

constexpr ColdStart kAll = {.huge_pages = true, .populate = true, .ahead = true};

TEST(PageChoiceTest, APoolWithCheapHugePagesHasThemInAllThatIsMadeAhead) {
  PricedSource source;
  const Maps maps = MapsOf(&source, kAll);
  EXPECT_EQ(maps.small, 2u) << "what is lent before anything is made ahead";
  EXPECT_GE(maps.huge, 14u);
}

TEST(PageChoiceTest, APoolWithDearHugePagesMakesOne) {
  PricedSource source;
  source.huge_ns = 4 * kDearNs;
  const Maps maps = MapsOf(&source, kAll);
  EXPECT_EQ(maps.huge, 1u);
  EXPECT_GE(maps.small, 15u);
}

TEST(PageChoiceTest, WithoutMeasureOrWithoutPopulatedSmallPagesThereIsNoChoice) {
  for (const bool populate : {true, false}) {
    PricedSource source;
    source.huge_ns = kDearNs;
    EXPECT_EQ(MapsOf(&source, {.huge_pages = true, .populate = populate, .ahead = !populate}).small, 0u);
  }
}

}  // namespace
}  // namespace strongbin
