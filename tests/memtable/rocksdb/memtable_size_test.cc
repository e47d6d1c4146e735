// When memtables end, what they hold until then, and what is kept of them afterwards.
#include <string>
#include <vector>

#include <rocksdb/write_buffer_manager.h>

#include "strongbin/pool/size_class.h"
#include "strongbin/tests/memtable/rocksdb/memtable_counter.h"
#include "strongbin/tests/memtable/rocksdb/transaction_db.h"

namespace strongbin {
namespace {

class MemtableSizeTest : public DbTest {
 protected:
  struct Seen {
    uint64_t sealed = 0;
    uint64_t entries = 0;  // in the sealed memtables
    uint64_t peak_lent_bytes = 0;
    double EntriesEach() const { return static_cast<double>(entries) / static_cast<double>(sealed); }
  };
  // With each flush waited for, so that one memtable is there at a time.
  Seen Fill(Rep rep, size_t memtable_bytes, size_t value_bytes, size_t total_bytes) const {
    rdb::Options options = SmallOptions(rep);
    options.write_buffer_size = memtable_bytes;
    options.disable_auto_compactions = true;
    const auto counter = CountMemtables(&options);
    const std::string path = Path(NewFactory(rep)->Name()) + std::to_string(value_bytes);
    Seen seen;
    {
      TestDb db;
      EXPECT_TRUE(Ok(db.Open(options, path)));
      for (uint64_t i = 0; i < total_bytes / (value_bytes + 16); ++i) {
        EXPECT_TRUE(Ok(db->Put({}, NumberKey(Scramble(i), 16), std::string(value_bytes, 'v'))));
        if (i % 8 == 0) seen.peak_lent_bytes = std::max(seen.peak_lent_bytes, LentBytes());
        counter->WaitForFlushes();
      }
      seen.sealed = counter->sealed();
      seen.entries = counter->entries();
    }
    std::filesystem::remove_all(path);
    return seen;
  }
};

struct Size {
  size_t memtable_bytes;
  size_t value_bytes;
  double least_ratio;
};

TEST_F(MemtableSizeTest, MemtablesHoldNearlyAsManyEntriesAsTheSkipLists) {
  constexpr size_t kMiB = 1 << 20;
  // Ten bytes are less than what index and log need for them. Large values lie in chunks of their own, or leave the
  // ends of shared ones empty.
  std::vector<Size> sizes = {{kMiB, 10, 0.85},
                             {kMiB, 128, 0.93},
                             {4 * kMiB, 1'024, 0.92},
                             {4 * kMiB, 100 << 10, 0.75},
                             {4 * kMiB, 900 << 10, 0.75}};
  if (WideTests()) sizes.insert(sizes.end(), {{4 * kMiB, 10, 0.9}, {8 * kMiB, 128, 0.95}});
  for (const auto& [memtable_bytes, value_bytes, least_ratio] : sizes) {
    SCOPED_TRACE(std::to_string(memtable_bytes) + " " + std::to_string(value_bytes));
    const size_t total_bytes = TestScale(3, 10) * memtable_bytes + 8 * value_bytes;
    const Seen expected = Fill(Rep::kSkipList, memtable_bytes, value_bytes, total_bytes);
    const Seen actual = Fill(Rep::kStrongbin, memtable_bytes, value_bytes, total_bytes);
    ASSERT_GE(expected.sealed, 2u);
    EXPECT_GE(actual.EntriesEach(), least_ratio * expected.EntriesEach());
    EXPECT_LE(actual.EntriesEach(), 1.1 * expected.EntriesEach()) << "usage must not be under-reported";
    // One memtable that is written to, and until its flush is seen the one before; what its flush has sorted is no more
    // than the entries.
    EXPECT_LE(actual.peak_lent_bytes, 2 * (memtable_bytes + value_bytes + kMaxChunkBytes));
  }
}

TEST_F(MemtableSizeTest, OneEntryHoldsKilobytes) {
  TestDb db;
  ASSERT_TRUE(Ok(db.Open(SmallOptions(Rep::kStrongbin), Path("db"))));
  ASSERT_TRUE(Ok(db->Put({}, "key", "value")));
  EXPECT_GT(LentBytes(), 0u);
  EXPECT_LE(LentBytes(), 16u << 10);
}

// B21
TEST_F(MemtableSizeTest, EmptyColumnFamiliesHoldNothing) {
  rdb::Options options = SmallOptions(Rep::kStrongbin);
  options.write_buffer_manager = std::make_shared<rdb::WriteBufferManager>(64 << 20);
  const auto counter = CountMemtables(&options);
  TestDb db;
  ASSERT_TRUE(Ok(db.Open(options, Path("db"))));
  const size_t count = TestScale(300, 10'000);
  const std::vector<std::string> names = [count] {
    std::vector<std::string> all;
    for (size_t i = 0; i < count; ++i) all.push_back(std::to_string(i));
    return all;
  }();
  std::vector<rdb::ColumnFamilyHandle*> families;
  ASSERT_TRUE(Ok(db->CreateColumnFamilies(options, names, &families)));
  EXPECT_EQ(Stats().rocksdb.memtables, count + 1);
  EXPECT_EQ(LentBytes(), 0u);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Ok(db->Put({}, std::to_string(i), "value")));
  EXPECT_LE(LentBytes(), 64u << 10);
  EXPECT_EQ(counter->sealed(), 0u) << "no limit may be met by empty memtables";
  for (rdb::ColumnFamilyHandle* family : families) EXPECT_TRUE(Ok(db->DestroyColumnFamilyHandle(family)));
}

class KeptMemtablesTest : public MemtableSizeTest {
 protected:
  static constexpr size_t kMemtableBytes = 1 << 20;
  static rdb::Options Options(Rep rep) {
    rdb::Options options = SmallOptions(rep);
    options.write_buffer_size = kMemtableBytes;
    options.disable_auto_compactions = true;
    return options;
  }
  // What RocksDB believes that all memtables hold.
  static uint64_t Write40MB(rdb::DB* db, const MemtableCounter& counter) {
    for (uint64_t i = 0; i < 40'000; ++i) {
      EXPECT_TRUE(Ok(db->Put({}, NumberKey(Scramble(i), 20), std::string(1'000, 'v'))));
      counter.WaitForFlushes();
    }
    uint64_t bytes = 0;
    EXPECT_TRUE(db->GetIntProperty(rdb::DB::Properties::kSizeAllMemTables, &bytes));
    return bytes;
  }
};

// M12
TEST_F(KeptMemtablesTest, AsMuchHistoryIsKeptAsWithTheSkipList) {
  for (const int64_t kept_bytes : {int64_t{64} << 20, int64_t{4} << 20}) {
    std::array<uint64_t, kBothReps.size()> held{};
    for (const Rep rep : kBothReps) {
      rdb::Options options = Options(rep);
      options.max_write_buffer_size_to_maintain = kept_bytes;
      const auto counter = CountMemtables(&options);
      TestDb db;
      ASSERT_TRUE(Ok(db.Open(options, Path("db"))));
      held[static_cast<size_t>(rep)] = Write40MB(db.get(), *counter);
      if (rep == Rep::kStrongbin) {
        const uint64_t all = counter->sealed() + 1;
        const uint64_t of_history = static_cast<uint64_t>(kept_bytes) / kMemtableBytes + 1;
        EXPECT_LE(Stats().rocksdb.memtables, std::min(all, of_history + 1));
        EXPECT_GE(Stats().rocksdb.memtables, std::min(all, of_history - 1));
      }
      db.Close();
      std::filesystem::remove_all(Path("db"));
    }
    EXPECT_GE(held[1], held[0] / 4 * 3);
    EXPECT_LE(held[1], held[0] / 3 * 4);
  }
}

TEST_F(KeptMemtablesTest, TransactionsKeepAFew) {
  rdb::Options options = Options(Rep::kStrongbin);
  const auto counter = CountMemtables(&options);
  TestTxnDb db;
  ASSERT_TRUE(Ok(db.Open({"WriteCommitted", TxnKind::kWriteCommitted}, options, Path("db"))));
  Write40MB(db.get(), *counter);
  EXPECT_GE(Stats().rocksdb.memtables, 2u);
  EXPECT_LE(Stats().rocksdb.memtables, 5u);
}

}  // namespace
}  // namespace strongbin
