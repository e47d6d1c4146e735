// The pressure hook, the monitor, decay and the cold transition, with RocksDB on top.
#include <atomic>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <rocksdb/listener.h>

#include "strongbin/pool/pressure_hook.h"
#include "strongbin/stats/snapshot.h"
#include "strongbin/tests/memtable/on_threads.h"
#include "strongbin/tests/memtable/rocksdb/test_db.h"
#include "strongbin/tests/pool/thread_names.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

using testing::HasSubstr;

constexpr size_t kMiB = size_t{1} << 20;
constexpr const char* kMonitorThread = "strongbin-press";

size_t Relieve() { return PressureHook::Process().OnMemoryPressure(); }
uint64_t IdleBytes() { return SumOfLabels(Stats().pool.idle_bytes); }
std::string KeyOf(uint64_t i) { return NumberKey(Scramble(i), 20); }

// Calls the hook where RocksDB is in the middle of it (B35 c).
class CallsTheHook final : public rdb::EventListener {
 public:
  void OnMemTableSealed(const rdb::MemTableInfo&) override { Relieve(); }
  void OnFlushBegin(rdb::DB*, const rdb::FlushJobInfo&) override { Relieve(); }
  void OnFlushCompleted(rdb::DB*, const rdb::FlushJobInfo&) override {
    Relieve();
    ++flushes;
  }
  std::atomic<uint64_t> flushes{0};
};

class RocksDBPressureTest : public DbTest {
 protected:
  // The pool of the process is shared by all tests; a factory's options are those of its first memtable.
  void TearDown() override { Relieve(); }
};

// Acceptance: no write is lost, whoever calls the hook meanwhile, and from wherever.
TEST_F(RocksDBPressureTest, NoWriteIsLostWhileTheHookIsCalledAllTheTime) {
  for (const RepPool pool : {RepPool::kProcess, RepPool::kOwn}) {
    rdb::Options options = SmallOptions(Rep::kStrongbin);
    options.memtable_factory = NewAppendOnlyRepFactory({.pool = pool, .pool_cap_bytes = 4 * kMiB});
    const auto listener = std::make_shared<CallsTheHook>();
    options.listeners.push_back(listener);
    const std::string path = Path(pool == RepPool::kOwn ? "own" : "process");
    constexpr uint64_t kWriters = 3;
    const uint64_t writes = TestScale(10'000, 200'000);
    {
      TestDb db;
      ASSERT_TRUE(Ok(db.Open(options, path)));
      std::atomic<bool> stop = false;
      std::atomic<uint64_t> given_back_bytes = 0;
      std::thread caller([&] {
        while (!stop) given_back_bytes += Relieve();
      });
      OnThreads(kWriters, [&](uint64_t writer) {
        for (uint64_t i = writer; i < writes; i += kWriters) {
          ASSERT_TRUE(Ok(db->Put({}, KeyOf(i), KeyOf(i) + "value")));
          std::string value;
          if (i % 16 == writer) {
            ASSERT_TRUE(Ok(db->Get({}, KeyOf(i), &value)));
          }
        }
      });
      stop = true;
      caller.join();
      EXPECT_GT(given_back_bytes, 0u);
      EXPECT_GT(listener->flushes, 0u);
      // Not flushed: what is in memtables must come back from the log.
    }
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(options, path)));
    for (uint64_t i = 0; i < writes; ++i) {
      std::string value;
      ASSERT_TRUE(Ok(db->Get({}, KeyOf(i), &value))) << i;
      ASSERT_EQ(value, KeyOf(i) + "value");
    }
  }
}

// B23, M13: iterators hold 40 MB beyond a cap of 8 MiB; it is shown, the hook does not touch it, and it goes with them.
TEST_F(RocksDBPressureTest, WhatIteratorsHoldIsShownAndLeftAlone) {
  constexpr size_t kCapBytes = 8 * kMiB, kMemtableBytes = kMiB;
  constexpr uint64_t kIterators = 80, kWritesBetween = 512;
  rdb::Options options = SmallOptions(Rep::kStrongbin);
  options.write_buffer_size = kMemtableBytes;
  options.disable_auto_compactions = true;
  options.memtable_factory = NewAppendOnlyRepFactory({.pool_cap_bytes = kCapBytes});
  TestDb db;
  ASSERT_TRUE(Ok(db.Open(options, Path("db"))));
  std::vector<std::unique_ptr<rdb::Iterator>> iterators;
  uint64_t written = 0;
  for (uint64_t i = 0; i < kIterators; ++i) {
    for (uint64_t write = 0; write < kWritesBetween; ++write) {
      ASSERT_TRUE(Ok(db->Put({}, KeyOf(written++), std::string(1'000, 'v'))));
    }
    iterators.emplace_back(db->NewIterator({}));
  }
  ASSERT_TRUE(Ok(db->Flush({})));
  const uint64_t lent_bytes = LentBytes();
  EXPECT_GE(lent_bytes, 30 * kMemtableBytes) << "beyond the cap, and shown";
  Relieve();
  EXPECT_EQ(LentBytes(), lent_bytes);
  uint64_t seen = 0;
  for (iterators[40]->SeekToFirst(); iterators[40]->Valid(); iterators[40]->Next()) ++seen;
  EXPECT_EQ(seen, 41 * kWritesBetween);

  const uint64_t dropped_before = SumOfLabels(Stats().pool.admission_drop_bytes);
  iterators.clear();
  EXPECT_LE(LentBytes(), 2 * kMiB);
  EXPECT_LE(IdleBytes(), kCapBytes);
  EXPECT_GE(SumOfLabels(Stats().pool.admission_drop_bytes) - dropped_before, lent_bytes - kCapBytes - 2 * kMiB);
  Relieve();
  EXPECT_EQ(IdleBytes(), 0u);
}

// B28: two databases with one factory, and one with another pool, whose iterators end on any thread.
TEST_F(RocksDBPressureTest, ChunksOfSeveralDatabasesGoHome) {
  rdb::Options shared = SmallOptions(Rep::kStrongbin), own = SmallOptions(Rep::kStrongbin);
  own.memtable_factory = NewAppendOnlyRepFactory({.pool = RepPool::kOwn});
  TestDb databases[3];
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(Ok(databases[i].Open(i < 2 ? shared : own, Path(std::to_string(i)))));
  }
  std::vector<std::unique_ptr<rdb::Iterator>> iterators(9);
  OnThreads(3, [&](uint64_t thread) {
    for (uint64_t i = 0; i < 3'000; ++i) {
      ASSERT_TRUE(Ok(databases[thread]->Put({}, KeyOf(i), std::string(100, 'v'))));
      if (i % 1'000 == 999) iterators[thread * 3 + i / 1'000].reset(databases[thread]->NewIterator({}));
      if (i % 500 == 0) Relieve();
    }
  });
  OnThreads(3, [&](uint64_t thread) {
    for (uint64_t i = 0; i < 3; ++i) iterators[i * 3 + (thread + i) % 3].reset();
  });
  databases[2].Close();
  const uint64_t lent_bytes = LentBytes();
  EXPECT_GT(lent_bytes, 0u);
  databases[0].Close();
  EXPECT_LT(LentBytes(), lent_bytes);
  databases[1].Close();
  EXPECT_EQ(LentBytes(), 0u);
}

TEST_F(RocksDBPressureTest, TheLastMemtableDropsThePoolWhereTheOptionSaysSo) {
  for (const bool drop : {false, true}) {
    rdb::Options options = SmallOptions(Rep::kStrongbin);
    options.memtable_factory = NewAppendOnlyRepFactory({.drop_pool_when_unused = drop});
    const PoolStats before = Stats().pool;
    TestDb first, second;
    ASSERT_TRUE(Ok(first.Open(options, Path("first"))));
    ASSERT_TRUE(Ok(second.Open(options, Path("second"))));
    for (uint64_t i = 0; i < 3'000; ++i) ASSERT_TRUE(Ok(first->Put({}, KeyOf(i), std::string(100, 'v'))));
    first.Close();
    EXPECT_GT(IdleBytes(), 0u) << "the other database may want it";
    second.Close();
    EXPECT_EQ(IdleBytes() == 0, drop);
    const PoolStats after = Stats().pool;
    // (Once more where RocksDB replaces the memtable that a new database begins with.)
    EXPECT_EQ(after.unused_calls > before.unused_calls, drop);
    EXPECT_EQ(after.pressure_calls, before.pressure_calls) << "counted apart";
  }
}

TEST_F(RocksDBPressureTest, IdleChunksDecayWhereTheOptionSaysSo) {
  for (const RepPool pool : {RepPool::kProcess, RepPool::kOwn}) {
    rdb::Options options = SmallOptions(Rep::kStrongbin);
    ASSERT_TRUE(Ok(options.memtable_factory->ConfigureFromString(
        {}, std::string("pool_decay_ms=5;pool=") + (pool == RepPool::kOwn ? "own" : "process"))));
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(options, Path(pool == RepPool::kOwn ? "own" : "process"))));
    for (uint64_t i = 0; i < 3'000; ++i) ASSERT_TRUE(Ok(db->Put({}, KeyOf(i), std::string(100, 'v'))));
    ASSERT_TRUE(Ok(db->Flush({})));
    EXPECT_EQ(CountThreads("strongbin-pool"), 1u);
    // The database stays open and idle.
    while (pool == RepPool::kProcess && IdleBytes() > 0) std::this_thread::yield();
    for (uint64_t i = 0; i < 3'000; ++i) {
      std::string value;
      ASSERT_TRUE(Ok(db->Get({}, KeyOf(i), &value)));
    }
  }
  EXPECT_GT(SumOfLabels(Stats().pool.decay_drops), 0u);
}

TEST_F(RocksDBPressureTest, OneMonitorServesAllFactoriesThatAskForIt) {
  std::vector<std::shared_ptr<rdb::MemTableRepFactory>> factories;
  TestDb databases[2];
  for (size_t i = 0; i < 2; ++i) {
    rdb::Options options = SmallOptions(Rep::kStrongbin);
    EXPECT_EQ(CountThreads(kMonitorThread), i) << "off unless asked for";
    ASSERT_TRUE(Ok(options.memtable_factory->ConfigureFromString({}, "pressure_monitor=true")));
    const rdb::Status status = databases[i].Open(options, Path(std::to_string(i)));
    if (status.IsNotSupported()) GTEST_SKIP() << status.ToString();
    ASSERT_TRUE(Ok(status));
    ASSERT_TRUE(Ok(databases[i]->Put({}, "key", "value")));
    EXPECT_EQ(CountThreads(kMonitorThread), 1u);
  }
  databases[0].Close();
  EXPECT_EQ(CountThreads(kMonitorThread), 1u);
  databases[1].Close();
  EXPECT_EQ(CountThreads(kMonitorThread), 0u);
}

TEST_F(RocksDBPressureTest, AMonitorThatCannotStartIsARefusalThatNamesTheOption) {
  if (kAddressSanitizer) GTEST_SKIP() << "the sanitizers' own look at memory needs a descriptor";
  const auto factory = NewAppendOnlyRepFactory({.pressure_monitor = true});
  rdb::Options options;
  // No file can be opened, whatever this system has.
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const rdb::Status status = factory->ValidateOptions(options, options);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(status.IsNotSupported()) << status.ToString();
  EXPECT_THAT(status.ToString(), HasSubstr("pressure_monitor=true"));
  EXPECT_THAT(status.ToString(), HasSubstr("/proc/pressure/memory: Too many open files"));
}

}  // namespace
}  // namespace strongbin
