// Limits on all write buffers of a database hold as with the skip list, whatever way they are given.
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/write_buffer_manager.h>

#include "strongbin/tests/memtable/rocksdb/memtable_counter.h"
#include "strongbin/tests/memtable/rocksdb/test_db.h"

namespace strongbin {
namespace {

constexpr size_t kLimitBytes = 8 << 20;
constexpr size_t kValueBytes = 1'000;
uint64_t Writes() { return TestScale(25'000, 50'000); }

// Memtables far above the limit, so that nothing but the limit ends them.
rdb::Options OptionsAboveLimit(Rep rep) {
  rdb::Options options = SmallOptions(rep);
  options.write_buffer_size = 256 << 20;
  options.disable_auto_compactions = true;
  return options;
}

// A database that is written to, with each flush waited for: so what is seen does not depend on how fast flushes are.
class LimitedDb {
 public:
  LimitedDb(rdb::Options options, const std::string& path) : counter_(CountMemtables(&options)) {
    EXPECT_TRUE(Ok(db_.Open(options, path)));
    manager_ = db_->GetDBOptions().write_buffer_manager;  // RocksDB's own where the options have none
  }
  void Write() {
    // Far too many switches are seen at the end, and need not all be waited for.
    if (sealed() > kHopeless) return;
    EXPECT_TRUE(Ok(db_->Put({}, NumberKey(Scramble(written_++), 20), std::string(kValueBytes, 'v'))));
    peak_bytes_ = std::max(peak_bytes_, manager_->memory_usage());
    counter_->WaitForFlushes();
  }
  void Close() {
    db_.Close();
    manager_.reset();
  }

  uint64_t sealed() const { return counter_->sealed(); }
  size_t peak_bytes() const { return peak_bytes_; }

 private:
  static constexpr uint64_t kHopeless = 300;
  const std::shared_ptr<MemtableCounter> counter_;
  TestDb db_;
  std::shared_ptr<rdb::WriteBufferManager> manager_;
  uint64_t written_ = 0;
  size_t peak_bytes_ = 0;
};

void ExpectSimilar(uint64_t actual, uint64_t expected) {
  EXPECT_GE(4 * actual, 3 * expected);
  EXPECT_LE(3 * actual, 4 * expected);
}

enum class Way {
  kManagerOfDatabase,
  kManagerOfBoth,
  kConfigured,
  kConfiguredManager,
  kSizeAlone,
  kCostToCache,
  kAllowStall,
};
constexpr std::pair<Way, const char*> kWays[] = {
    {Way::kManagerOfDatabase, "ManagerOfDatabase"},
    {Way::kManagerOfBoth, "ManagerOfDatabaseAndFactory"},
    {Way::kConfigured, "ConfiguredSize"},
    {Way::kConfiguredManager, "ConfiguredManager"},
    {Way::kSizeAlone, "SizeAlone"},
    {Way::kCostToCache, "CostToCache"},
    {Way::kAllowStall, "AllowStall"},
};

class MemoryLimitTest : public DbTest, public testing::WithParamInterface<std::pair<Way, const char*>> {
 protected:
  static rdb::Options LimitedOptions(Rep rep) {
    const Way way = GetParam().first;
    rdb::Options options = OptionsAboveLimit(rep);
    if (way == Way::kConfigured || way == Way::kSizeAlone) {
      options.db_write_buffer_size = kLimitBytes;
    } else {
      const auto cache = way == Way::kCostToCache ? rdb::NewLRUCache(64 << 20) : nullptr;
      options.write_buffer_manager =
          std::make_shared<rdb::WriteBufferManager>(kLimitBytes, cache, way == Way::kAllowStall);
    }
    if (rep == Rep::kSkipList) return options;
    if (way == Way::kManagerOfBoth) {
      options.memtable_factory = NewAppendOnlyRepFactory({.write_buffer_manager = options.write_buffer_manager});
    } else if (way == Way::kConfigured || way == Way::kConfiguredManager) {
      EXPECT_TRUE(Ok(ConfigureRocksDB(&options, &options)));
    }
    return options;
  }
};

TEST_P(MemoryLimitTest, HoldsAsWithTheSkipList) {
  std::array<uint64_t, kBothReps.size()> sealed{};
  for (const Rep rep : kBothReps) {
    SCOPED_TRACE(NewFactory(rep)->Name());
    const rdb::Options options = LimitedOptions(rep);
    LimitedDb db(options, Path(NewFactory(rep)->Name()));
    for (uint64_t i = 0; i < Writes(); ++i) db.Write();
    sealed[static_cast<size_t>(rep)] = db.sealed();
    EXPECT_GE(db.peak_bytes(), kLimitBytes / 2) << "the manager must see what is there";
    EXPECT_LE(db.peak_bytes(), kLimitBytes * 3 / 2);
    db.Close();
    if (options.write_buffer_manager == nullptr) continue;
    EXPECT_EQ(options.write_buffer_manager->memory_usage(), 0u);
    EXPECT_EQ(options.write_buffer_manager->mutable_memtable_memory_usage(), 0u);
    EXPECT_EQ(options.write_buffer_manager->dummy_entries_in_cache_usage(), 0u);
  }
  EXPECT_GE(sealed[0], 3u);
  ExpectSimilar(sealed[1], sealed[0]);
}

std::string NameOf(const testing::TestParamInfo<std::pair<Way, const char*>>& way) { return way.param.second; }
INSTANTIATE_TEST_SUITE_P(Ways, MemoryLimitTest, testing::ValuesIn(kWays), NameOf);

class SharedManagerTest : public DbTest {};

// What the second database of a factory has.
enum class Other { kNoManager, kManagerWithoutLimit, kHigherLimit };

// A manager that charges a cache and limits nothing.
TEST_F(SharedManagerTest, CacheIsChargedForWhatMemtablesHold) {
  for (const Rep rep : kBothReps) {
    SCOPED_TRACE(NewFactory(rep)->Name());
    const auto cache = rdb::NewLRUCache(64 << 20);
    rdb::Options options = OptionsAboveLimit(rep);
    options.write_buffer_manager = std::make_shared<rdb::WriteBufferManager>(0, cache);
    LimitedDb db(options, Path(NewFactory(rep)->Name()));
    for (uint64_t i = 0; i < 10'000; ++i) db.Write();
    EXPECT_GE(cache->GetPinnedUsage(), 10'000 * kValueBytes);
    EXPECT_LE(cache->GetPinnedUsage(), 10'000 * kValueBytes * 3 / 2);
    db.Close();
    EXPECT_EQ(cache->GetPinnedUsage(), 0u);
  }
}

// Several databases under one limit.
TEST_F(SharedManagerTest, LimitHoldsForAllDatabasesTogether) {
  std::array<uint64_t, kBothReps.size()> sealed{};
  for (const Rep rep : kBothReps) {
    SCOPED_TRACE(NewFactory(rep)->Name());
    rdb::Options options = OptionsAboveLimit(rep);
    options.write_buffer_manager = std::make_shared<rdb::WriteBufferManager>(kLimitBytes);
    const std::string path = Path(NewFactory(rep)->Name());
    LimitedDb first(options, path + "1"), second(options, path + "2");
    for (uint64_t i = 0; i < Writes(); ++i) (i % 4 == 0 ? first : second).Write();
    EXPECT_LE(first.peak_bytes(), 2 * kLimitBytes);
    EXPECT_LE(second.peak_bytes(), 2 * kLimitBytes);
    sealed[static_cast<size_t>(rep)] = first.sealed() + second.sealed();
    first.Close();
    second.Close();
    EXPECT_EQ(options.write_buffer_manager->memory_usage(), 0u);
  }
  // Which of the two gives way, and how often, hangs on small differences.
  EXPECT_LE(sealed[1], 2 * sealed[0]);
}

// One factory for databases with different managers: it cannot know whose memtable it makes, and must not charge one
// for the other.
class TwoManagersTest : public DbTest, public testing::WithParamInterface<std::tuple<Other, bool>> {
 protected:
  static rdb::Options LimitedOptions(const rdb::Options& base) {
    rdb::Options options = base;
    options.write_buffer_manager = std::make_shared<rdb::WriteBufferManager>(kLimitBytes);
    return options;
  }
  static rdb::Options OtherOptions(const rdb::Options& base) {
    rdb::Options options = base;
    const Other other = std::get<Other>(GetParam());
    if (other == Other::kHigherLimit) {
      options.write_buffer_manager = std::make_shared<rdb::WriteBufferManager>(size_t{1} << 30);
    } else if (other == Other::kManagerWithoutLimit) {
      options.write_buffer_manager = std::make_shared<rdb::WriteBufferManager>(0);
    }
    return options;
  }
};

TEST_P(TwoManagersTest, LimitHoldsForItsDatabaseAlone) {
  const bool limited_comes_first = std::get<bool>(GetParam());
  const rdb::Options base = OptionsAboveLimit(Rep::kStrongbin);
  const rdb::Options limited_options = LimitedOptions(base), other_options = OtherOptions(base);
  std::unique_ptr<LimitedDb> limited, other;
  const auto open_limited = [&] { limited = std::make_unique<LimitedDb>(limited_options, Path("limited")); };
  if (limited_comes_first) open_limited();
  other = std::make_unique<LimitedDb>(other_options, Path("other"));
  if (!limited_comes_first) open_limited();
  for (uint64_t i = 0; i < Writes(); ++i) {
    limited->Write();
    other->Write();
  }
  EXPECT_EQ(other->sealed(), 0u);
  EXPECT_LE(limited->peak_bytes(), kLimitBytes * 3 / 2);
  // RocksDB switches at seven eighths of the limit.
  ExpectSimilar(limited->sealed(), Writes() * kValueBytes / (kLimitBytes / 8 * 7));
  limited.reset();
  EXPECT_EQ(limited_options.write_buffer_manager->memory_usage(), 0u);
}

std::string NameOfOther(const testing::TestParamInfo<TwoManagersTest::ParamType>& param) {
  constexpr const char* kOthers[] = {"None", "WithoutLimit", "HigherLimit"};
  const auto& [other, limited_comes_first] = param.param;
  return std::string(kOthers[static_cast<size_t>(other)]) + (limited_comes_first ? "Last" : "First");
}
INSTANTIATE_TEST_SUITE_P(Others, TwoManagersTest,
                         testing::Combine(testing::Values(Other::kNoManager, Other::kManagerWithoutLimit,
                                                          Other::kHigherLimit),
                                          testing::Bool()),
                         NameOfOther);

// Databases without limits are served from the pool, however many there are.
TEST_F(SharedManagerTest, ManagersWithoutLimitsAreNoReasonToLeaveThePool) {
  const rdb::Options base = OptionsAboveLimit(Rep::kStrongbin);
  const uint64_t before = Stats().rocksdb.engine_arena_memtables;
  std::vector<std::unique_ptr<LimitedDb>> databases;
  for (int i = 0; i < 3; ++i) {
    rdb::Options options = base;
    if (i > 0) options.write_buffer_manager = std::make_shared<rdb::WriteBufferManager>(0);
    databases.push_back(std::make_unique<LimitedDb>(options, Path(std::to_string(i))));
    databases.back()->Write();
  }
  // A manager whose database is gone does not count either.
  databases.clear();
  rdb::Options options = base;
  options.memtable_factory = NewFactory(Rep::kStrongbin);
  for (int i = 0; i < 3; ++i) {
    options.write_buffer_manager = std::make_shared<rdb::WriteBufferManager>(kLimitBytes);
    LimitedDb(options, Path("again")).Write();
  }
  EXPECT_EQ(Stats().rocksdb.engine_arena_memtables, before);
}

}  // namespace
}  // namespace strongbin
