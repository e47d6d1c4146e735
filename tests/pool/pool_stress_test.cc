// Many threads on one pool: no chunk has two owners, and the books agree with an independent count.
#include <array>
#include <atomic>
#include <barrier>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/pool/slab.h"
#include "strongbin/tests/pool/pool_test_util.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

bool HoldsOnly(const Chunk& chunk, char byte) {
  return chunk.data[0] == byte && std::memcmp(chunk.data, chunk.data + 1, chunk.bytes - 1) == 0;
}

TEST(PoolStressTest, NobodyWritesToAChunkAfterItWasReleased) {
  const size_t rounds = TestScale(kThreadSanitizer || kAddressSanitizer ? 10'000 : 100'000, 10'000'000);
  ChunkPool pool(PoolOptions(4 * kMinChunkBytes));
  std::atomic<uint64_t> foreign_bytes = 0;
  std::vector<std::thread> threads;
  for (char id : {'a', 'b'}) {
    threads.emplace_back([&, id] {
      for (size_t round = 0; round < rounds; round++) {
        const Chunk chunk = pool.Acquire(kMinChunkBytes, ChunkKind::k_key);
        std::memset(chunk.data, id, chunk.bytes);
        if (!HoldsOnly(chunk, id)) foreign_bytes++;
        round % 64 == 63 ? ChunkPool::Drop(chunk) : ChunkPool::Release(chunk);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(foreign_bytes, 0u);
  EXPECT_EQ(Sum(pool.Stats().gets), 2 * rounds);
  ExpectIdentities(pool.Stats());
}

// Maps one slab and tells where it is.
class OneSlabSource : public TestSource {
 public:
  void* Map(size_t bytes, size_t alignment, bool huge_pages) override {
    EXPECT_EQ(bytes, kSlabBytes);
    EXPECT_EQ(base, nullptr) << "one slab is enough";
    base = static_cast<char*>(TestSource::Map(bytes, alignment, huge_pages));
    return base;
  }
  char* base = nullptr;
};

TEST(PoolStressTest, AChunkNeverHasTwoOwners) {
  constexpr size_t kThreads = 8;
  const size_t phases = 5;
  const size_t rounds = TestScale(kThreadSanitizer || kAddressSanitizer ? 200 : 1'000, 2'000'000);
  OneSlabSource source;
  ChunkPool pool(PoolOptions(3 * kMinChunkBytes, &source));
  const Chunk keeps_the_slab = pool.Acquire(1, ChunkKind::k_key);
  ChunkPool::Release(AcquireMany(&pool, kMinChunkBytes, 3));
  std::vector<std::atomic<uint32_t>> owners(kMaxChunksPerSlab);  // 0: nobody
  std::atomic<uint64_t> clashes = 0;
  std::atomic<uint64_t> held = 1;
  const auto owner_of = [&](const Chunk& chunk) -> std::atomic<uint32_t>& {
    return owners[static_cast<size_t>(chunk.data - source.base) / kMinChunkBytes];
  };
  std::barrier quiet(kThreads, [&]() noexcept {
    const PoolStats stats = pool.Stats();
    EXPECT_EQ(stats.lent_bytes[0], held * kMinChunkBytes);
    ExpectIdentities(stats);
  });
  std::vector<std::thread> threads;
  for (uint32_t id = 1; id <= kThreads; id++) {
    threads.emplace_back([&, id] {
      std::mt19937 random(id);
      std::vector<Chunk> mine;
      for (size_t phase = 0; phase < phases; phase++) {
        for (size_t round = 0; round < rounds; round++) {
          for (size_t i = 0; i < 1 + random() % 2; i++) {
            mine.push_back(pool.Acquire(kMinChunkBytes, ChunkKind::k_key));
            held++;
            // Relaxed: the word itself is all that is looked at.
            if (owner_of(mine.back()).exchange(id, std::memory_order_relaxed) != 0) clashes++;
          }
          std::this_thread::yield();
          if (random() % 2 == 0) std::swap(mine.front(), mine.back());
          while (mine.size() > random() % 2) {
            if (owner_of(mine.back()).exchange(0, std::memory_order_relaxed) != id) clashes++;
            held--;
            ChunkPool::Release(mine.back());
            mine.pop_back();
          }
        }
        quiet.arrive_and_wait();
      }
      for (const Chunk& chunk : mine) owner_of(chunk) = 0;
      held -= mine.size();
      ChunkPool::Release(mine);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clashes, 0u);
  EXPECT_EQ(held, 1u);
  ChunkPool::Release(keeps_the_slab);
  EXPECT_EQ(Sum(pool.Stats().lent_bytes), 0u);
}

// What the callers of a pool know themselves of what they did.
struct Model {
  std::array<std::atomic<uint64_t>, kClassSlotCount> gets{};
  std::array<std::atomic<uint64_t>, kClassSlotCount> puts{};
  std::array<std::atomic<uint64_t>, kClassSlotCount> drops{};
  std::array<std::atomic<int64_t>, kClassSlotCount> lent_bytes{};
  std::atomic<uint64_t> refusals = 0;
  std::atomic<uint64_t> pressure_calls = 0;
  std::atomic<uint64_t> pressure_drop_bytes = 0;
  std::atomic<uint64_t> admission_drop_bytes = 0;
};

class RandomWorker {
 public:
  RandomWorker(ChunkPool* pool, Model* model, uint32_t seed)
      : pool_(pool), model_(model), random_(seed), stamp_(static_cast<char>('A' + seed)) {}

  void Step() {
    const auto dice = random_() % 100;
    if (dice < 45) {
      Get(size_t{1} << (random_() % 21));
    } else if (dice < 48) {
      Get(kMaxChunkBytes + 1 + random_() % kMaxChunkBytes);
    } else if (dice < 75) {
      GiveBack(1 + random_() % 8, /*warm=*/true);
    } else if (dice < 85) {
      GiveBack(1 + random_() % 8, /*warm=*/false);
    } else if (dice < 92) {
      GiveBack(held_.size(), /*warm=*/dice < 90);  // a reset
    } else if (dice < 94) {
      model_->pressure_calls++;
      model_->pressure_drop_bytes += pool_->OnMemoryPressure();
    } else {
      ExpectIdentities(pool_->Stats());
    }
    if (held_bytes_ > 16 * kMiB) GiveBack(held_.size(), true);
  }

  void GiveBack(size_t count, bool warm) {
    std::vector<Chunk> chunks;
    for (count = std::min(count, held_.size()); count > 0; count--) {
      std::swap(held_[random_() % held_.size()], held_.back());
      const Chunk chunk = held_.back();
      held_.pop_back();
      held_bytes_ -= chunk.bytes;
      const size_t slot = ClassFor(chunk.bytes);
      EXPECT_EQ(chunk.data[0], stamp_);
      EXPECT_EQ(chunk.data[chunk.bytes - 1], stamp_);
      (warm ? model_->puts : model_->drops)[slot]++;
      model_->lent_bytes[slot] -= static_cast<int64_t>(chunk.bytes);
      chunks.push_back(chunk);
    }
    warm ? ChunkPool::Release(chunks) : ChunkPool::Drop(chunks);
  }
  void GiveBackAll() { GiveBack(held_.size(), true); }

 private:
  void Get(size_t bytes) {
    const Chunk chunk = pool_->Acquire(bytes, static_cast<ChunkKind>(random_() % kChunkKindCount));
    if (!chunk) {
      model_->refusals++;
      return;
    }
    EXPECT_GE(chunk.bytes, bytes);
    chunk.data[0] = stamp_;
    chunk.data[chunk.bytes - 1] = stamp_;
    const size_t slot = ClassFor(bytes);
    model_->gets[slot]++;
    model_->lent_bytes[slot] += static_cast<int64_t>(chunk.bytes);
    held_bytes_ += chunk.bytes;
    held_.push_back(chunk);
  }

  ChunkPool* const pool_;
  Model* const model_;
  std::mt19937 random_;
  const char stamp_;
  std::vector<Chunk> held_;
  size_t held_bytes_ = 0;
};

class PoolPropertyTest : public testing::TestWithParam<bool> {};

TEST_P(PoolPropertyTest, StatisticsAgreeWithAnIndependentCountAtEveryQuietPoint) {
  constexpr size_t kThreads = 4;
  const size_t phases = TestScale(10, 100);
  const size_t steps = TestScale(kThreadSanitizer || kAddressSanitizer ? 200 : 500, 2'500);
  const bool carves = GetParam();
  TestSource source(carves);
  std::atomic<uint64_t> map_dice = 0;
  source.refuse_map = [&](uint64_t) { return ++map_dice % 97 == 0; };
  Model model;
  ChunkPoolOptions options = PoolOptions(4 * kMiB, &source);
  options.on_event = [&](const PoolEvent& event) {
    if (event.type == PoolEvent::Type::kAdmissionDrop) model.admission_drop_bytes += event.bytes;
  };
  ChunkPool pool(options);

  const auto check = [&]() noexcept {
    const PoolStats stats = pool.Stats();
    ExpectIdentities(stats);
    for (size_t slot = 0; slot < kClassSlotCount; slot++) {
      SCOPED_TRACE(kClassLabels[slot]);
      EXPECT_EQ(stats.gets[slot], model.gets[slot]);
      EXPECT_EQ(stats.puts[slot], model.puts[slot]);
      EXPECT_EQ(static_cast<int64_t>(stats.lent_bytes[slot]), model.lent_bytes[slot]);
      EXPECT_GE(stats.drops[slot], model.drops[slot]);
    }
    uint64_t cold_drops = 0;
    for (const auto& drops : model.drops) cold_drops += drops;
    if (model.pressure_drop_bytes == 0) {
      EXPECT_EQ(Sum(stats.drops), cold_drops);
    }
    EXPECT_EQ(stats.refusals, model.refusals);
    EXPECT_EQ(stats.pressure_calls, model.pressure_calls);
    EXPECT_EQ(stats.pressure_drop_bytes, model.pressure_drop_bytes);
    EXPECT_EQ(Sum(stats.admission_drop_bytes), model.admission_drop_bytes);
    // Where each chunk has its own mapping, the system's side of the books is exact.
    if (!carves) {
      EXPECT_EQ(Sum(stats.fresh_bytes), source.mapped_bytes);
      EXPECT_EQ(Sum(stats.returned_bytes), source.unmapped_bytes);
      EXPECT_EQ(Sum(stats.slab_free_bytes), 0u);
    } else {
      EXPECT_LE(Sum(stats.fresh_bytes) - Sum(stats.returned_bytes), source.mapped_bytes - source.unmapped_bytes);
    }
  };
  std::barrier quiet(kThreads, check);
  std::vector<std::thread> threads;
  for (uint32_t id = 0; id < kThreads; id++) {
    threads.emplace_back([&, id] {
      RandomWorker worker(&pool, &model, id + 1);
      for (size_t phase = 0; phase < phases; phase++) {
        for (size_t step = 0; step < steps; step++) worker.Step();
        quiet.arrive_and_wait();
      }
      worker.GiveBackAll();
    });
  }
  for (std::thread& thread : threads) thread.join();
  check();
  EXPECT_EQ(Sum(pool.Stats().lent_bytes), 0u);
  pool.OnMemoryPressure();
  EXPECT_EQ(pool.Stats().returned_bytes, pool.Stats().fresh_bytes);
  EXPECT_EQ(source.unmapped_bytes, source.mapped_bytes);
}

INSTANTIATE_TEST_SUITE_P(Sources, PoolPropertyTest, testing::Values(true, false),
                         [](const auto& param_info) { return param_info.param ? "Slabs" : "SingleChunks"; });

TEST(PoolStressTest, TwoPoolsAndChunksThatWanderBetweenThreads) {
  constexpr size_t kThreads = 4;
  const size_t rounds = TestScale(kThreadSanitizer || kAddressSanitizer ? 1'000 : 10'000, 500'000);
  ChunkPool first(PoolOptions(kMiB));
  ChunkPool second(PoolOptions(2 * kMiB));
  std::mutex mutex;
  std::vector<Chunk> market;
  std::array<std::atomic<uint64_t>, 2> gets{};
  std::vector<std::thread> threads;
  for (uint32_t id = 0; id < kThreads; id++) {
    threads.emplace_back([&, id] {
      std::mt19937 random(id);
      for (size_t round = 0; round < rounds; round++) {
        const size_t which = random() % 2;
        const Chunk mine = (which == 0 ? first : second).Acquire(size_t{2048} << random() % 8, ChunkKind::k_value);
        gets[which]++;
        Chunk back;
        {
          const std::lock_guard lock(mutex);
          market.push_back(mine);
          std::swap(market[random() % market.size()], market.back());
          if (market.size() > 20) {
            back = market.back();
            market.pop_back();
          }
        }
        ChunkPool::Release(back);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ChunkPool::Release(market);
  EXPECT_EQ(Sum(first.Stats().gets), gets[0]);
  EXPECT_EQ(Sum(first.Stats().puts), gets[0]);
  EXPECT_EQ(Sum(second.Stats().gets), gets[1]);
  EXPECT_EQ(Sum(second.Stats().puts), gets[1]);
  EXPECT_EQ(Sum(first.Stats().lent_bytes) + Sum(second.Stats().lent_bytes), 0u);
  ExpectIdentities(first.Stats());
  ExpectIdentities(second.Stats());
}

}  // namespace
}  // namespace strongbin
