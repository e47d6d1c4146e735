// The numbers of pools in the statistics page.
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/pool/fork_guard.h"
#include "strongbin/stats/identities.h"
#include "strongbin/stats/snapshot.h"
#include "strongbin/tests/stats/page_test_util.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

class PoolPageTest : public PageTest {
 protected:
  static bool Agree(const PoolStats& a, const PoolStats& b) {
    bool agree = true;
    ForEachMetric([&agree](const MetricInfo&, std::span<const uint64_t> x,
                           std::span<const uint64_t> y) { agree &= std::ranges::equal(x, y); },
                  a, b);
    return agree;
  }
  static bool IdentitiesHold(const PoolStats& stats) { return BrokenIdentities(stats).empty(); }
  static PoolStats InPage(const std::string& name) {
    for (const PageSnapshot::Pool& pool : ReadOwnPage().pools) {
      if (pool.name == name) return pool.stats;
    }
    std::fprintf(stderr, "no pool %s in the page\n", name.c_str());
    _exit(1);
  }
  static void UseSome(ChunkPool* pool) {
    std::vector<Chunk> chunks;
    for (size_t slot = 0; slot <= kSizeClassCount; slot++) {
      const size_t bytes = slot < kSizeClassCount ? ClassBytes(slot) : 3 << 20;
      for (int i = 0; i < 3; i++) chunks.push_back(pool->Acquire(bytes, ChunkKind::k_value));
    }
    ChunkPool::Release(chunks);
  }
};

TEST_F(PoolPageTest, APoolThatIsMadeAfterThePageLivesInIt) {
  EXPECT_EQ(InChild([this] {
              Open();
              ChunkPool pool({.cap_bytes = 8 << 20, .name = "engine"});
              REQUIRE_IN_CHILD(InPage("engine").cap_bytes == 8 << 20);
              const Chunk chunk = pool.Acquire(5000, ChunkKind::k_key);
              REQUIRE_IN_CHILD(InPage("engine").lent_bytes[2] == 8192);
              ChunkPool::Release(chunk);
              REQUIRE_IN_CHILD(InPage("engine").idle_bytes[2] == 8192);
              UseSome(&pool);
              REQUIRE_IN_CHILD(IdentitiesHold(InPage("engine")));
              REQUIRE_IN_CHILD(Agree(InPage("engine"), pool.Stats()));
            }),
            0);
}

TEST_F(PoolPageTest, APoolThatIsOlderThanThePageBringsItsPastWhenItIsUsed) {
  EXPECT_EQ(InChild([this] {
              ChunkPool pool({.name = "old"});
              UseSome(&pool);
              const Chunk chunk = pool.Acquire(2048, ChunkKind::k_key);
              const PoolStats before = pool.Stats();
              Open();
              REQUIRE_IN_CHILD(ReadOwnPage().pools.empty());
              ChunkPool::Release(chunk);
              const PoolStats seen = InPage("old");
              REQUIRE_IN_CHILD(Agree(seen, pool.Stats()));
              REQUIRE_IN_CHILD(seen.gets == before.gets && seen.puts[0] == before.puts[0] + 1);
              REQUIRE_IN_CHILD(IdentitiesHold(seen));
            }),
            0);
}

TEST_F(PoolPageTest, TheEnvironmentOpensThePageWithTheFirstPool) {
  EXPECT_EQ(InChild([this] {
              setenv("XDG_RUNTIME_DIR", directory_.path().c_str(), 1);
              setenv("STRONGBIN_STATS_PAGE", "1", 1);
              REQUIRE_IN_CHILD(StatsPagePath().empty());
              ChunkPool::Release(ChunkPool::Default().Acquire(2048, ChunkKind::k_key));
              REQUIRE_IN_CHILD(InPage("default").puts[0] == 1);
            }),
            0);
}

TEST_F(PoolPageTest, APoolThatEndsLeavesItsSlot) {
  EXPECT_EQ(InChild([this] {
              Open();
              for (size_t i = 0; i < 3 * stats_internal::kPagePools; i++) {
                ChunkPool pool;
                UseSome(&pool);
                REQUIRE_IN_CHILD(ReadOwnPage().pools.size() == 1 && Agree(ReadOwnPage().pools[0].stats, pool.Stats()));
              }
              REQUIRE_IN_CHILD(ReadOwnPage().pools.empty());
            }),
            0);
}

TEST_F(PoolPageTest, PoolsWithoutASlotCountAsBefore) {
  EXPECT_EQ(InChild([this] {
              Open();
              std::vector<std::unique_ptr<ChunkPool>> pools;
              for (size_t i = 0; i < stats_internal::kPagePools + 3; i++)
                pools.push_back(std::make_unique<ChunkPool>());
              for (const auto& pool : pools) UseSome(pool.get());
              REQUIRE_IN_CHILD(ReadOwnPage().pools_left_out == 3);
              for (const auto& pool : pools)
                REQUIRE_IN_CHILD(IdentitiesHold(pool->Stats()) && pool->Stats().gets[0] == 3);
              pools.clear();
              REQUIRE_IN_CHILD(ReadOwnPage().pools_left_out == 0);
            }),
            0);
}

TEST_F(PoolPageTest, AChildOfForkUsesThePoolInPrivateAndMayShowItInAPageOfItsOwn) {
  EXPECT_EQ(InChild([this] {
              Open();
              ChunkPool pool({.name = "engine"});
              UseSome(&pool);
              const PoolStats before = pool.Stats();
              REQUIRE_IN_CHILD(InChild([this, &pool, &before] {
                                 UseSome(&pool);
                                 REQUIRE_IN_CHILD(pool.Stats().gets[0] == before.gets[0] + 3);
                                 REQUIRE_IN_CHILD(IdentitiesHold(pool.Stats()));
                                 Open();
                                 UseSome(&pool);
                                 REQUIRE_IN_CHILD(Agree(InPage("engine"), pool.Stats()));
                                 REQUIRE_IN_CHILD(IdentitiesHold(InPage("engine")));
                               }) == 0);
              REQUIRE_IN_CHILD(Agree(InPage("engine"), before) && Agree(pool.Stats(), before));
            }),
            0);
}

TEST_F(PoolPageTest, AChildFindsTheNumbersOfTheMomentOfItsFork) {
  if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "sanitizers may hold locks of their own at the fork";
  EXPECT_EQ(InChild([this] {
              Open();
              ChunkPool pool({.name = "engine"});
              std::atomic<bool> done{false};
              std::vector<std::thread> users;
              for (int i = 0; i < 3; i++) {
                users.emplace_back([&] {
                  while (!done) UseSome(&pool);
                });
              }
              for (size_t i = 0; i < TestScale(200, 5'000); i++) {
                const auto in_child = [&pool] {
                  REQUIRE_IN_CHILD(BrokenIdentities(pool.Stats()).empty());
                  UseSome(&pool);
                  REQUIRE_IN_CHILD(BrokenIdentities(pool.Stats()).empty());
                  _exit(0);
                };
                REQUIRE_IN_CHILD(InChild(in_child) == 0);
              }
              done = true;
              for (std::thread& user : users) user.join();
            }),
            0);
}

// Made before main, as by a pool in a static object: what its handler finds in a child.
std::mutex static_mutex;
bool had_parents_page = true;
const ForkGuard static_guard(
    &static_mutex, [](void*) { had_parents_page = stats_internal::CurrentPage() != nullptr; }, nullptr);

TEST_F(PoolPageTest, AChildLeavesThePageOfItsParentBeforeAnyPoolIsRepaired) {
  EXPECT_EQ(InChild([this] {
              Open();
              REQUIRE_IN_CHILD(InChild([] { REQUIRE_IN_CHILD(!had_parents_page); }) == 0);
            }),
            0);
}

TEST_F(PoolPageTest, ThePageOpensBesideThreadsThatUseThePool) {
  EXPECT_EQ(InChild([this] {
              ChunkPool pool({.name = "engine"});
              const size_t rounds = TestScale(100, 5'000);
              std::vector<std::thread> users;
              for (int i = 0; i < 4; i++) {
                users.emplace_back([&pool, rounds] {
                  for (size_t round = 0; round < rounds; round++) UseSome(&pool);
                });
              }
              Open();
              for (size_t round = 0; round < rounds; round++) ReadOwnPage();
              for (std::thread& user : users) user.join();
              const PoolStats stats = pool.Stats();
              REQUIRE_IN_CHILD(stats.gets[0] == 4 * 3 * rounds && IdentitiesHold(stats));
              REQUIRE_IN_CHILD(Agree(InPage("engine"), stats));
            }),
            0);
}

}  // namespace
}  // namespace strongbin
