// Memtables live as long as somebody reads them, and no longer; flushes that fail lose nothing and leave nothing
// behind.
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "strongbin/tests/memtable/rocksdb/memtable_counter.h"
#include "strongbin/tests/memtable/rocksdb/test_db.h"

namespace strongbin {
namespace {

constexpr size_t kMemtableBytes = 1 << 20;
constexpr uint64_t kAFewMemtablesBytes = 2 * kMemtableBytes;

std::string KeyOf(uint64_t i) { return NumberKey(Scramble(i), 20); }

class HeldMemtablesTest : public DbTest {
 protected:
  static rdb::Options Options() {
    rdb::Options options = SmallOptions(Rep::kStrongbin);
    options.write_buffer_size = kMemtableBytes;
    // Files shall not be merged while a test looks at what flushes leave.
    options.disable_auto_compactions = true;
    return options;
  }

  // An iterator with what it must show.
  struct Held {
    std::unique_ptr<rdb::Iterator> iterator;
    uint64_t entries = 0;
  };
  static void ExpectEntries(const Held& held) {
    uint64_t seen = 0;
    for (held.iterator->SeekToFirst(); held.iterator->Valid(); held.iterator->Next()) ++seen;
    EXPECT_TRUE(Ok(held.iterator->status()));
    EXPECT_EQ(seen, held.entries);
  }

  static uint64_t AliveMemtables() { return Stats().rocksdb.memtables; }
};

// B04, M13: iterators over 40 MB in memtables of two column families, one of which is dropped.
TEST_F(HeldMemtablesTest, LiveUntilTheirLastIterator) {
  for (const RepPool pool : {RepPool::kProcess, RepPool::kOwn}) {
    rdb::Options options = Options();
    options.create_missing_column_families = true;
    options.memtable_factory = NewAppendOnlyRepFactory({.pool = pool});
    TestDb db;
    ASSERT_TRUE(Ok(
        db.Open(options, Path(pool == RepPool::kOwn ? "own" : "process"), {rdb::kDefaultColumnFamilyName, "dropped"})));
    // The factory may go before its memtables.
    options.memtable_factory.reset();
    constexpr uint64_t kIterators = 80, kWritesBetween = 512;
    std::vector<Held> held;
    std::array<uint64_t, 2> written{};
    for (uint64_t i = 0; i < kIterators; ++i) {
      const size_t family = i / 2 % 2;
      for (uint64_t write = 0; write < kWritesBetween; ++write) {
        const std::string key = KeyOf(written[family]++);
        ASSERT_TRUE(Ok(db->Put({}, db.family(family), key, std::string(1'000, 'v'))));
      }
      held.push_back({std::unique_ptr<rdb::Iterator>(db->NewIterator({}, db.family(family))), written[family]});
      // Some are used before what they read is flushed.
      if (i % 3 == 0) ExpectEntries(held.back());
    }
    ASSERT_TRUE(Ok(db->Flush({}, {db.family(0), db.family(1)})));
    EXPECT_GE(AliveMemtables(), 30u);
    if (pool == RepPool::kProcess) {
      EXPECT_GE(LentBytes(), 30 * kMemtableBytes) << "held and shown";
    }

    Random random(1);
    std::shuffle(held.begin(), held.end(), random);
    const auto close_some = [&held](size_t count) {
      // Iterators are closed by whatever thread.
      std::thread([&held, count] {
        for (size_t i = 0; i < count; ++i) {
          if (i % 8 == 0) ExpectEntries(held.back());
          held.pop_back();
        }
      }).join();
    };
    close_some(20);
    ASSERT_TRUE(Ok(db->DropColumnFamily(db.family(1))));
    close_some(20);
    db.DestroyLastFamily();
    close_some(39);
    ExpectEntries(held.back());
    held.clear();
    EXPECT_EQ(AliveMemtables(), 1u);
    EXPECT_LE(LentBytes(), kAFewMemtablesBytes);
  }
}

// B25
TEST_F(HeldMemtablesTest, IteratorsLeaveNothingBehindHoweverTheyWereUsed) {
  TestDb db;
  ASSERT_TRUE(Ok(db.Open(Options(), Path("db"))));
  for (uint64_t i = 0; i < 500; ++i) ASSERT_TRUE(Ok(db->Put({}, KeyOf(i), "value")));
  ScanForward(std::unique_ptr<rdb::Iterator>(db->NewIterator({})).get(), std::make_unique<History>().get());
  const uint64_t lent = LentBytes();
  const std::string no_timestamp_here(8, 't');
  const rdb::Slice timestamp(no_timestamp_here);
  for (uint64_t i = 0; i < 10'000; ++i) {
    rdb::ReadOptions options;
    options.tailing = i % 5 == 4;
    if (i % 5 == 3) options.timestamp = &timestamp;  // such an iterator is in error before its first use
    const std::unique_ptr<rdb::Iterator> iterator(db->NewIterator(options));
    if (i % 2 == 0) iterator->Seek(KeyOf(i % 500));
    if (i % 3 == 0) {
      ASSERT_EQ(iterator->Refresh().ok(), i % 5 < 3);
    }
    if (i % 7 == 0) iterator->SeekToLast();
    if (i % 5 != 4) {
      ASSERT_EQ(iterator->status().ok(), i % 5 != 3);
    }
  }
  EXPECT_EQ(LentBytes(), lent);
}

// Refuses to make table files, as often as it is told to.
class FailingFileSystem final : public NoSyncFileSystem {
 public:
  void FailNext(int count) { fail_next_.store(count); }
  int failed() const { return failed_.load(); }

  IOStatus NewWritableFile(const std::string& name, const FileOptions& options, std::unique_ptr<FSWritableFile>* file,
                           IODebugContext* context) override {
    if (name.ends_with(".sst") && fail_next_.load() > 0) {
      fail_next_.fetch_sub(1);
      failed_.fetch_add(1);
      IOStatus error = IOStatus::IOError("told to");
      error.SetRetryable(true);  // else RocksDB would be read-only from now on
      return error;
    }
    return NoSyncFileSystem::NewWritableFile(name, options, file, context);
  }

 private:
  std::atomic<int> fail_next_{0};
  std::atomic<int> failed_{0};
};

TEST_F(HeldMemtablesTest, FlushesThatFailTwiceLoseNothingAndLeaveNothingBehind) {
  const auto file_system = std::make_shared<FailingFileSystem>();
  const std::unique_ptr<rdb::Env> env = rdb::NewCompositeEnv(file_system);
  rdb::Options options = Options();
  options.env = env.get();
  options.max_bgerror_resume_count = 0;  // nobody but the test tries again
  const auto counter = CountMemtables(&options);
  TestDb db;
  ASSERT_TRUE(Ok(db.Open(options, Path("db"))));
  // RocksDB sleeps for a second after each failure.
  const uint64_t memtables = TestScale(3, 20), each = 300;
  for (uint64_t memtable = 0; memtable < memtables; ++memtable) {
    for (uint64_t i = 0; i < each; ++i) {
      const std::string key = KeyOf(memtable * each + i);
      ASSERT_TRUE(Ok(db->Put({}, key, key)));
    }
    const std::unique_ptr<rdb::Iterator> iterator(db->NewIterator({}));
    file_system->FailNext(2);
    EXPECT_FALSE(db->Flush({}).ok());
    EXPECT_FALSE(db->Resume().ok());
    EXPECT_EQ(AliveMemtables(), 2u);
    ASSERT_TRUE(Ok(db->Resume()));
  }
  EXPECT_EQ(file_system->failed(), static_cast<int>(2 * memtables));
  EXPECT_EQ(AliveMemtables(), 1u);
  EXPECT_LE(LentBytes(), kAFewMemtablesBytes);
  for (uint64_t i = 0; i < memtables * each; ++i) {
    std::string value;
    ASSERT_TRUE(Ok(db->Get({}, KeyOf(i), &value)));
    ASSERT_EQ(value, KeyOf(i));
  }
  db.Close();
}

}  // namespace
}  // namespace strongbin
