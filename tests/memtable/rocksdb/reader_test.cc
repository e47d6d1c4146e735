// Every way to read a memtable: iterators that live on, snapshots, several keys at once, other processes' views.
#include <string>
#include <vector>

#include <rocksdb/snapshot.h>

#include "strongbin/tests/memtable/rocksdb/test_db.h"

namespace strongbin {
namespace {

// Some of them longer than a length of one byte can tell.
std::string KeyOf(uint64_t i) {
  return NumberKey(Scramble(i) % 10'000'000, 12) + std::string(i % 7 == 0 ? 40 * (i % 9) : 0, 'l');
}

void PutSome(rdb::DB* db, uint64_t first, uint64_t count) {
  for (uint64_t i = first; i < first + count; ++i) ASSERT_TRUE(Ok(db->Put({}, KeyOf(i), std::to_string(i))));
}

class ReaderTest : public DbTest {};

TEST_F(ReaderTest, TailingIteratorSeesNewerEntriesAfterASeek) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(LargeOptions(rep), path)));
    rdb::ReadOptions options;
    options.tailing = true;
    const std::unique_ptr<rdb::Iterator> tail(db->NewIterator(options));
    for (uint64_t i = 0; i < 2'000; ++i) {
      const std::string key = KeyOf(i);
      tail->Seek(key);
      history->Add("before", *tail);
      PutSome(db.get(), i, 1);
      tail->Seek(key);
      ASSERT_TRUE(tail->Valid());
      ASSERT_EQ(tail->key().ToString(), key);
      if (i % 3 == 0) history->Add("delete", db->Delete({}, key));
      tail->Seek(key);
      history->Add("after", *tail);
      if (tail->Valid()) tail->Next();
      history->Add("next", *tail);
      if (i % 701 == 700) history->Add("flush", db->Flush({}));
    }
    ScanForward(tail.get(), history);
  }));
}

TEST_F(ReaderTest, RefreshShowsNewerEntries) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(LargeOptions(rep), path)));
    const std::unique_ptr<rdb::Iterator> iterator(db->NewIterator({}));
    for (uint64_t round = 0; round < 20; ++round) {
      ScanBothWays(iterator.get(), history);
      PutSome(db.get(), round * 50, 100);
      history->Add("still the old state");
      ScanForward(iterator.get(), history);
      history->Add("refresh", iterator->Refresh());
      if (round % 7 == 6) history->Add("flush", db->Flush({}));
    }
    ScanBothWays(iterator.get(), history);
  }));
}

TEST_F(ReaderTest, IteratorsKeepTheirSnapshotWhileWritesGoOn) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(LargeOptions(rep), path)));
    std::vector<std::unique_ptr<rdb::Iterator>> iterators;
    for (uint64_t round = 0; round < 30; ++round) {
      PutSome(db.get(), round * 20, 60);
      iterators.emplace_back(db->NewIterator({}));
      // Half of them stand on a key when the writes go on.
      if (round % 2 == 0) iterators.back()->Seek(KeyOf(round));
      if (round % 10 == 9) history->Add("flush", db->Flush({}));
    }
    for (const auto& iterator : iterators) {
      for (int step = 0; step < 10 && iterator->Valid(); ++step, iterator->Next()) history->Add("on", *iterator);
      for (int step = 0; step < 20 && iterator->Valid(); ++step, iterator->Prev()) history->Add("back", *iterator);
      ScanBothWays(iterator.get(), history);
    }
  }));
}

TEST_F(ReaderTest, BoundsAndTurnsOfAnIterator) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(LargeOptions(rep), path)));
    PutSome(db.get(), 0, 1'000);
    ASSERT_TRUE(Ok(db->Flush({})));
    PutSome(db.get(), 500, 1'000);
    Random random(5);
    for (uint64_t round = 0; round < TestScale(30, 1'000); ++round) {
      std::string low = KeyOf(Below(&random, 1'600)), high = KeyOf(Below(&random, 1'600));
      if (high < low) std::swap(low, high);
      const rdb::Slice lower(low), upper(high);
      rdb::ReadOptions options;
      if (!OneIn(&random, 4)) options.iterate_lower_bound = &lower;
      if (!OneIn(&random, 4)) options.iterate_upper_bound = &upper;
      const std::unique_ptr<rdb::Iterator> iterator(db->NewIterator(options));
      for (int i = 0; i < 60; ++i) {
        const std::string key = KeyOf(Below(&random, 1'600));
        const uint64_t kind = Below(&random, iterator->Valid() ? 20 : 4);
        kind == 0   ? iterator->SeekToFirst()
        : kind == 1 ? iterator->SeekToLast()
        : kind == 2 ? iterator->Seek(key)
        : kind == 3 ? iterator->SeekForPrev(key)
        : kind < 12 ? iterator->Next()
                    : iterator->Prev();
        history->Add(std::to_string(kind), *iterator);
      }
    }
  }));
}

TEST_F(ReaderTest, MultiGetFindsWhatGetFinds) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(LargeOptions(rep), path)));
    PutSome(db.get(), 0, 500);
    rdb::ManagedSnapshot snapshot(db.get());
    ASSERT_TRUE(Ok(db->Flush({})));
    PutSome(db.get(), 400, 500);
    for (uint64_t i = 0; i < 900; i += 7) ASSERT_TRUE(Ok(db->Merge({}, KeyOf(i), "more")));
    std::vector<std::string> keys;
    for (uint64_t i = 0; i < 1'000; ++i) keys.push_back(KeyOf(i));
    keys.push_back(keys.front());  // twice in one call
    const std::vector<rdb::Slice> slices(keys.begin(), keys.end());
    for (const rdb::Snapshot* at : {static_cast<const rdb::Snapshot*>(nullptr), snapshot.snapshot()}) {
      rdb::ReadOptions options;
      options.snapshot = at;
      std::vector<rdb::PinnableSlice> values(keys.size());
      std::vector<rdb::Status> statuses(keys.size());
      db->MultiGet(options, db.family(0), keys.size(), slices.data(), values.data(), statuses.data());
      for (size_t i = 0; i < keys.size(); ++i) {
        std::string value;
        const rdb::Status status = db->Get(options, keys[i], &value);
        EXPECT_EQ(status, statuses[i]);
        EXPECT_EQ(value, values[i].ToString());
        history->Add(keys[i], status, value);
      }
    }
  }));
}

TEST_F(ReaderTest, OldSnapshotsOfAnOftenOverwrittenKey) {
  for (const Rep rep : kBothReps) {
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(LargeOptions(rep), Path(NewFactory(rep)->Name()))));
    const uint64_t writes = TestScale(20'000, 1'000'000);
    std::vector<std::pair<const rdb::Snapshot*, uint64_t>> snapshots;
    for (uint64_t i = 1; i <= writes; ++i) {
      ASSERT_TRUE(Ok(db->Put({}, "hot", std::to_string(i))));
      if (i % (writes / 1'000) == 0) snapshots.emplace_back(db->GetSnapshot(), i);
    }
    Random random(6);
    std::shuffle(snapshots.begin(), snapshots.end(), random);
    for (const auto& [snapshot, expected] : snapshots) {
      rdb::ReadOptions options;
      options.snapshot = snapshot;
      std::string value;
      ASSERT_TRUE(Ok(db->Get(options, "hot", &value)));
      ASSERT_EQ(value, std::to_string(expected));
      const std::unique_ptr<rdb::Iterator> iterator(db->NewIterator(options));
      iterator->SeekToFirst();
      ASSERT_TRUE(iterator->Valid());
      ASSERT_EQ(iterator->value().ToString(), std::to_string(expected));
      iterator->SeekForPrev("hot");
      ASSERT_TRUE(iterator->Valid());
      ASSERT_EQ(iterator->value().ToString(), std::to_string(expected));
    }
    for (const auto& [snapshot, expected] : snapshots) db->ReleaseSnapshot(snapshot);
  }
}

TEST_F(ReaderTest, ReadOnlyDatabaseShowsWhatTheLogHolds) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    const rdb::Options options = LargeOptions(rep);
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(options, path)));
    PutSome(db.get(), 0, 300);
    ASSERT_TRUE(Ok(db->Flush({})));
    PutSome(db.get(), 200, 300);
    db.Close();
    ASSERT_TRUE(Ok(db.OpenBy(options, {rdb::kDefaultColumnFamilyName}, [&](const auto&... arguments) {
      return rdb::DB::OpenForReadOnly(options, path, arguments...);
    })));
    ScanBothWays(db.get(), {}, db.family(0), history);
    std::string value;
    const rdb::Status status = db->Get({}, KeyOf(499), &value);
    history->Add("get", status, value);
    history->Add("put", db->Put({}, "key", "value"));
  }));
}

TEST_F(ReaderTest, SecondaryCatchesUpWithItsPrimary) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    rdb::Options options = LargeOptions(rep);
    options.max_open_files = -1;  // RocksDB asks it of secondaries
    ASSERT_TRUE(std::filesystem::create_directory(path));
    TestDb primary, secondary;
    ASSERT_TRUE(Ok(primary.Open(options, path + "/primary")));
    PutSome(primary.get(), 0, 100);
    ASSERT_TRUE(Ok(secondary.OpenBy(options, {rdb::kDefaultColumnFamilyName}, [&](const auto&... arguments) {
      return rdb::DB::OpenAsSecondary(options, path + "/primary", path + "/secondary", arguments...);
    })));
    for (uint64_t round = 0; round < 12; ++round) {
      PutSome(primary.get(), round * 40, 80);
      ASSERT_TRUE(Ok(primary->Delete({}, KeyOf(round))));
      ASSERT_TRUE(Ok(primary->Merge({}, KeyOf(round + 1), "merged")));
      if (round % 4 == 3) history->Add("flush", primary->Flush({}));
      const std::unique_ptr<rdb::Iterator> older(secondary->NewIterator({}));
      history->Add("catch up", secondary->TryCatchUpWithPrimary());
      ScanForward(older.get(), history);
      ScanBothWays(secondary.get(), {}, secondary.family(0), history);
      std::string value;
      const rdb::Status status = secondary->Get({}, KeyOf(round + 1), &value);
      history->Add("get", status, value);
    }
  }));
}

}  // namespace
}  // namespace strongbin
