// Every kind of entry that RocksDB writes, and those that it rewrites in place.
#include <string>
#include <vector>

#include <rocksdb/snapshot.h>
#include <rocksdb/wide_columns.h>
#include <rocksdb/write_batch.h>

#include "strongbin/tests/memtable/rocksdb/test_db.h"

namespace strongbin {
namespace {

std::string SmallKey(Random* random) { return "key " + std::to_string(Below(random, 40)); }

class WriteKindsTest : public DbTest {};

TEST_F(WriteKindsTest, RangesAndPointsDeleteWhatIsOlder) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(LargeOptions(rep), path)));
    Random random(1);
    std::vector<const rdb::Snapshot*> snapshots;
    for (size_t i = 0; i < TestScale(5'000, 200'000); ++i) {
      const uint64_t kind = Below(&random, 100);
      const std::string key = SmallKey(&random), other = SmallKey(&random);
      if (kind < 70) {
        ASSERT_TRUE(Ok(db->Put({}, key, std::to_string(i))));
      } else if (kind < 90) {
        ASSERT_TRUE(Ok(db->Delete({}, key)));
      } else {
        ASSERT_TRUE(Ok(db->DeleteRange({}, db.family(0), std::min(key, other), std::max(key, other))));
      }
      if (i % 50 == 0) {
        std::string value;
        const rdb::Status status = db->Get({}, other, &value);
        history->Add("get " + other, status, value);
        ScanBothWays(db.get(), {}, db.family(0), history);
      }
      if (i % 500 == 250) snapshots.push_back(db->GetSnapshot());
      if (i % 1'500 == 1'499) history->Add("flush", db->Flush({}));
    }
    for (const rdb::Snapshot* snapshot : snapshots) {
      rdb::ReadOptions options;
      options.snapshot = snapshot;
      if (snapshot == snapshots.front() || snapshot == snapshots.back()) {
        ScanBothWays(db.get(), options, db.family(0), history);
      }
      db->ReleaseSnapshot(snapshot);
    }
  }));
}

// A single delete ends the one put that it belongs to.
TEST_F(WriteKindsTest, SingleDeletesEndOnePut) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(LargeOptions(rep), path)));
    Random random(2);
    std::vector<bool> is_there(40);
    for (size_t i = 0; i < 3'000; ++i) {
      const uint64_t number = Below(&random, is_there.size());
      const std::string key = "key " + std::to_string(number);
      ASSERT_TRUE(Ok(is_there[number] ? db->SingleDelete({}, key) : db->Put({}, key, std::to_string(i))));
      is_there[number] = !is_there[number];
      if (i % 100 == 0) ScanBothWays(db.get(), {}, db.family(0), history);
      if (i % 700 == 699) history->Add("flush", db->Flush({}));
    }
    for (size_t number = 0; number < is_there.size(); ++number) {
      std::string value;
      EXPECT_EQ(db->Get({}, "key " + std::to_string(number), &value).ok(), is_there[number]);
    }
  }));
}

TEST_F(WriteKindsTest, MergeOperandsAreGivenInOrder) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(LargeOptions(rep), path)));
    for (uint64_t i = 0; i < 200; ++i) {
      const std::string key = "key " + std::to_string(i % 10);
      // One key has a base, one a tombstone in between.
      ASSERT_TRUE(Ok(i == 53 ? db->Put({}, key, "base") : db->Merge({}, key, std::to_string(i))));
      ASSERT_TRUE(Ok(i == 107 ? db->Delete({}, key) : rdb::Status()));
      if (i == 150) history->Add("flush", db->Flush({}));
    }
    for (uint64_t number = 0; number < 11; ++number) {
      const std::string key = "key " + std::to_string(number);
      std::vector<rdb::PinnableSlice> operands(32);
      rdb::GetMergeOperandsOptions options;
      options.expected_max_number_of_operands = static_cast<int>(operands.size());
      int count = 0;
      history->Add("operands of " + key,
                   db->GetMergeOperands({}, db.family(0), key, operands.data(), &options, &count));
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) history->Add(operands[i].ToString());
    }
  }));
}

TEST_F(WriteKindsTest, SuccessiveMergesAreFoldedByTheWriter) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    rdb::Options options = LargeOptions(rep);
    options.max_successive_merges = 4;
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(options, path)));
    std::string expected;
    for (uint64_t i = 0; i < 100; ++i) {
      const std::string operand = std::to_string(i);
      expected += (expected.empty() ? "" : ",") + operand;
      ASSERT_TRUE(Ok(db->Merge({}, "key", operand)));
      ASSERT_TRUE(Ok(db->Merge({}, "key " + std::to_string(i % 3), operand)));
      std::string value;
      ASSERT_TRUE(Ok(db->Get({}, "key", &value)));
      ASSERT_EQ(value, expected);
    }
    ScanBothWays(db.get(), {}, db.family(0), history);
    uint64_t entries = 0;
    ASSERT_TRUE(db->GetIntProperty(rdb::DB::Properties::kNumEntriesActiveMemTable, &entries));
    history->Add("entries " + std::to_string(entries));
  }));
}

// Values that are not longer than what is there overwrite it; the entry is the one that the memtable holds.
TEST_F(WriteKindsTest, InPlaceUpdatesRewriteTheNewestEntry) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    rdb::Options options = LargeOptions(rep);
    options.inplace_update_support = true;
    options.allow_concurrent_memtable_write = false;
    TestDb db;
    Random random(3);
    for (int generation = 0; generation < 2; ++generation) {
      ASSERT_TRUE(Ok(db.Open(options, path)));
      std::string value;
      for (uint64_t i = 0; i < 1'000; ++i) {
        const std::string written(10 + Below(&random, 100), static_cast<char>('a' + i % 26));
        ASSERT_TRUE(Ok(db->Put({}, "hot", written)));
        ASSERT_TRUE(Ok(db->Get({}, "hot", &value)));
        ASSERT_EQ(value, written);
        const std::string key = SmallKey(&random);
        const rdb::Status status = OneIn(&random, 4) ? db->Delete({}, key) : db->Put({}, key, written);
        ASSERT_TRUE(Ok(status));
        if (i % 100 == 0) ScanForward(std::unique_ptr<rdb::Iterator>(db->NewIterator({})).get(), history);
      }
      uint64_t entries = 0;
      ASSERT_TRUE(db->GetIntProperty(rdb::DB::Properties::kNumEntriesActiveMemTable, &entries));
      EXPECT_LT(entries, 1'500u) << "of 2,000 writes";
      history->Add("entries " + std::to_string(entries));
      db.Close();
    }
    ASSERT_TRUE(Ok(db.Open(options, path)));
    ASSERT_TRUE(Ok(db->Flush({})));
    ScanForward(std::unique_ptr<rdb::Iterator>(db->NewIterator({})).get(), history);
  }));
}

// Counts up where the digits suffice, tells a longer number, or refuses to touch what is no number.
rdb::UpdateStatus CountUp(char* existing, uint32_t* existing_bytes, rdb::Slice delta, std::string* merged) {
  if (existing == nullptr) {
    *merged = delta.ToString();
    return rdb::UPDATED;
  }
  const std::string old(existing, *existing_bytes);
  if (old.find_first_not_of("0123456789") != std::string::npos) return rdb::UPDATE_FAILED;
  const std::string sum = std::to_string(std::stoull(old) + std::stoull(delta.ToString()));
  if (sum.size() > *existing_bytes) {
    *merged = sum;
    return rdb::UPDATED;
  }
  std::copy(sum.begin(), sum.end(), existing);
  *existing_bytes = static_cast<uint32_t>(sum.size());
  return rdb::UPDATED_INPLACE;
}

TEST_F(WriteKindsTest, InPlaceCallbackChangesValues) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    rdb::Options options = LargeOptions(rep);
    options.inplace_update_support = true;
    options.inplace_callback = CountUp;
    options.allow_concurrent_memtable_write = false;
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(options, path)));
    Random random(4);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 2'000; ++i) {
      const uint64_t delta = Below(&random, 30);
      sum += delta;
      ASSERT_TRUE(Ok(db->Put({}, "sum", std::to_string(delta))));
      std::string value;
      ASSERT_TRUE(Ok(db->Get({}, "sum", &value)));
      ASSERT_EQ(value, std::to_string(sum));
      ASSERT_TRUE(Ok(db->Put({}, SmallKey(&random), std::to_string(delta))));
      if (i % 200 == 0) ScanForward(std::unique_ptr<rdb::Iterator>(db->NewIterator({})).get(), history);
    }
    ASSERT_TRUE(Ok(db->Flush({})));
    ScanForward(std::unique_ptr<rdb::Iterator>(db->NewIterator({})).get(), history);
  }));
}

// The checksum of an entry lies behind its value: all bytes that were allocated must stay as they were written.
TEST_F(WriteKindsTest, ProtectedEntriesKeepTheirChecksums) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    rdb::Options options = SmallOptions(rep);
    options.memtable_protection_bytes_per_key = 8;
    rdb::WriteOptions protected_write;
    protected_write.protection_bytes_per_key = 8;
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(options, path)));
    Random random(5);
    for (uint64_t i = 0; i < 3'000; ++i) {
      const std::string key = SmallKey(&random);
      const std::string value(Below(&random, 300), static_cast<char>('a' + i % 26));
      ASSERT_TRUE(Ok(OneIn(&random, 5)   ? db->Delete(protected_write, key)
                     : OneIn(&random, 5) ? db->Merge(protected_write, key, value)
                                         : db->Put(protected_write, key, value)));
      if (i % 100 == 0) ScanBothWays(db.get(), {}, db.family(0), history);
    }
    history->Add("flush", db->Flush({}));
    ScanBothWays(db.get(), {}, db.family(0), history);
  }));
}

TEST_F(WriteKindsTest, WideColumnsAreReadBack) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(LargeOptions(rep), path)));
    Random random(6);
    for (uint64_t i = 0; i < 500; ++i) {
      const std::string key = SmallKey(&random), number = std::to_string(i);
      const rdb::WideColumns columns = {{rdb::kDefaultWideColumnName, number}, {"other", key}};
      ASSERT_TRUE(Ok(OneIn(&random, 3) ? db->Put({}, key, number) : db->PutEntity({}, db.family(0), key, columns)));
      rdb::PinnableWideColumns found;
      ASSERT_TRUE(Ok(db->GetEntity({}, db.family(0), key, &found)));
      for (const rdb::WideColumn& column : found.columns()) {
        history->Add(column.name().ToString() + " = " + column.value().ToString());
      }
    }
    ScanBothWays(db.get(), {}, db.family(0), history);
  }));
}

}  // namespace
}  // namespace strongbin
