// A page between a process and its children, and between all that count in it and all that look.
#include <thread>
#include <vector>

#include "strongbin/stats/page_share.h"
#include "strongbin/tests/stats/page_test_util.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

using namespace stats_internal;

class SharedPageTest : public PageTest {};

TEST_F(SharedPageTest, AChildNeitherWritesToItsParentsPageNorRemovesIt) {
  EXPECT_EQ(InChild([this] {
              Open();
              PoolSlot* slot = TakePoolSlot(CurrentPage(), "engine");
              slot->cells.gets[0].Set(10);
              REQUIRE_IN_CHILD(InChild([slot] {
                                 REQUIRE_IN_CHILD(CurrentPage() == nullptr && StatsPagePath().empty());
                                 REQUIRE_IN_CHILD(slot->cells.gets[0].Load() == 10);
                                 slot->cells.gets[0].Add(1000);
                                 REQUIRE_IN_CHILD(slot->cells.gets[0].Load() == 1010);
                               }) == 0);
              slot->cells.gets[0].Add(1);
              REQUIRE_IN_CHILD(ReadOwnPage().pools[0].stats.gets[0] == 11);
              REQUIRE_IN_CHILD(directory_.files().size() == 1);
            }),
            0);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(SharedPageTest, AChildMayHaveAPageOfItsOwn) {
  EXPECT_EQ(InChild([this] {
              Open();
              const std::string parents = StatsPagePath();
              CurrentPage()->tables.sorts.AddShared(1);
              REQUIRE_IN_CHILD(InChild([this, &parents] {
                                 Open();
                                 REQUIRE_IN_CHILD(StatsPagePath() != parents);
                                 CurrentPage()->tables.sorts.AddShared(5);
                                 REQUIRE_IN_CHILD(ReadOwnPage().tables.sorts == 5);
                                 REQUIRE_IN_CHILD(directory_.files().size() == 2);
                                 REQUIRE_IN_CHILD(InChild([this] { Open(); }) == 0);
                               }) == 0);
              REQUIRE_IN_CHILD(StatsPagePath() == parents && ReadOwnPage().tables.sorts == 1);
            }),
            0);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(SharedPageTest, ForkBesideOpeningHarmsNeither) {
  if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "sanitizers mind children of several threads";
  for (size_t round = 0; round < TestScale(20, 500); ++round) {
    EXPECT_EQ(InChild([this] {
                std::thread opener([this] { Open(); });
                const int result = InChild([this] { Open(); });
                opener.join();
                REQUIRE_IN_CHILD(result == 0);
                REQUIRE_IN_CHILD(directory_.files().size() == 1);
              }),
              0);
    ASSERT_TRUE(std::filesystem::is_empty(directory_.path()));
  }
}

// ---- slots and shares ----

TEST_F(SharedPageTest, PoolsBeyondTheLastSlotAreCountedAndSlotsAreUsedAgain) {
  EXPECT_EQ(InChild([this] {
              Open();
              PageLayout* page = CurrentPage();
              std::vector<PoolSlot*> slots;
              for (size_t i = 0; i < kPagePools; ++i) slots.push_back(TakePoolSlot(page, "p"));
              REQUIRE_IN_CHILD(TakePoolSlot(page, "late") == nullptr);
              REQUIRE_IN_CHILD(ReadOwnPage().pools_left_out == 1);
              REQUIRE_IN_CHILD(ReadOwnPage().pools.size() == kPagePools);
              LeavePoolSlot(page, nullptr);
              REQUIRE_IN_CHILD(ReadOwnPage().pools_left_out == 0);
              slots[5]->cells.refusals.Set(3);
              LeavePoolSlot(page, slots[5]);
              REQUIRE_IN_CHILD(ReadOwnPage().pools.size() == kPagePools - 1);
              REQUIRE_IN_CHILD(TakePoolSlot(page, "a name that is far too long for the slot of a pool") == slots[5]);
              const PageSnapshot::Pool pool = ReadOwnPage().pools[5];
              REQUIRE_IN_CHILD(pool.stats.refusals == 0);
              REQUIRE_IN_CHILD(pool.name == "a name that is far too long for");
            }),
            0);
}

TEST_F(SharedPageTest, SharesAddUpAndTakeTheirGaugesWithThem) {
  EXPECT_EQ(InChild([this] {
              PageShare<TableMetrics> a, b;
              TableStats stats;
              stats.entries = 5;
              a.Publish(stats, /*due=*/0);  // no page yet
              Open();
              stats.sorts = 2;
              stats.longest_chain = 9;
              a.Publish(stats, /*due=*/0);
              stats.longest_chain = 4;
              b.Publish(stats, /*due=*/0);
              REQUIRE_IN_CHILD(ReadOwnPage().tables.entries == 10 && ReadOwnPage().tables.sorts == 4);
              REQUIRE_IN_CHILD(ReadOwnPage().tables.longest_chain == 9);
              stats.entries = 1;
              a.Publish(stats, /*due=*/0);
              REQUIRE_IN_CHILD(ReadOwnPage().tables.entries == 6);
              stats.sorts = 3;
              a.Leave(stats);
              REQUIRE_IN_CHILD(ReadOwnPage().tables.entries == 5 && ReadOwnPage().tables.sorts == 5);
            }),
            0);
}

// Many threads count, slots come and go, and processes that look are killed wherever they are.
TEST_F(SharedPageTest, ReadersKilledAtAnyMomentHarmNothing) {
  EXPECT_EQ(InChild([this] {
              Open();
              PageLayout* page = CurrentPage();
              const std::string path = StatsPagePath();
              std::vector<pid_t> readers;
              for (int i = 0; i < 3; ++i) {
                readers.push_back(StartChild([&path] {
                  for (;;) {
                    PageSnapshot snapshot;
                    std::string why;
                    REQUIRE_IN_CHILD(ReadStatsPage(path, &snapshot, &why));
                  }
                }));
              }
              const uint64_t rounds = TestScale(20'000, 1'000'000);
              std::vector<std::thread> writers;
              for (int i = 0; i < 4; ++i) {
                writers.emplace_back([page, rounds, &path] {
                  PageShare<TableMetrics> share;
                  TableStats stats;
                  for (uint64_t round = 0; round < rounds; ++round) {
                    stats.sorts = round + 1;
                    share.Publish(stats, /*due=*/0);
                    PoolSlot* slot = TakePoolSlot(page, "pool");
                    slot->cells.gets[0].Add(1);
                    LeavePoolSlot(page, slot);
                    if (round % 1024 == 0) ReadOwnPage();
                  }
                });
              }
              for (size_t i = 0; i < readers.size(); ++i) {
                while (page->tables.sorts.Load() < (i + 1) * rounds / 2) std::this_thread::yield();
                kill(readers[i], SIGKILL);
                REQUIRE_IN_CHILD(WaitFor(readers[i]) == -SIGKILL);
              }
              for (std::thread& writer : writers) writer.join();
              REQUIRE_IN_CHILD(ReadOwnPage().tables.sorts == 4 * rounds);
              REQUIRE_IN_CHILD(ReadOwnPage().pools.empty());
            }),
            0);
}

}  // namespace
}  // namespace strongbin
