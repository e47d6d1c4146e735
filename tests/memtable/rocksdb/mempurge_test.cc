// Memory purge: a flush that writes what is still useful into a new memtable instead of a file. Its entries arrive with
// their old sequence numbers, later than newer ones of the same keys.
#include <string>

#include <rocksdb/snapshot.h>

#include "strongbin/tests/memtable/rocksdb/test_db.h"

namespace strongbin {
namespace {

class MempurgeTest : public DbTest {
 protected:
  static rdb::Options PurgingOptions(Rep rep) {
    rdb::Options options = SmallOptions(rep);
    options.experimental_mempurge_threshold = 1.0;
    return options;
  }
};

TEST_F(MempurgeTest, FewHotKeysNeverReachAFile) {
  for (const Rep rep : kBothReps) {
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(PurgingOptions(rep), Path(NewFactory(rep)->Name()))));
    for (uint64_t i = 0; i < 20'000; ++i) {
      ASSERT_TRUE(Ok(db->Put({}, std::to_string(i % 20), std::to_string(i) + std::string(100, 'v'))));
    }
    std::string files;
    ASSERT_TRUE(db->GetProperty(rdb::DB::Properties::kNumFilesAtLevelPrefix + "0", &files));
    EXPECT_EQ(files, "0") << NewFactory(rep)->Name();
    for (uint64_t i = 0; i < 20; ++i) {
      std::string value;
      ASSERT_TRUE(Ok(db->Get({}, std::to_string(i), &value)));
      EXPECT_EQ(value, std::to_string(19'980 + i) + std::string(100, 'v'));
    }
  }
}

TEST_F(MempurgeTest, OldVersionsAndTombstonesSurviveAPurge) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    TestDb db;
    Random random(2);
    for (int generation = 0; generation < 3; ++generation) {
      ASSERT_TRUE(Ok(db.Open(PurgingOptions(rep), path)));
      std::vector<const rdb::Snapshot*> snapshots;
      for (size_t i = 0; i < TestScale(6'000, 100'000); ++i) {
        const std::string key = "key " + std::to_string(Below(&random, 60));
        const uint64_t kind = Below(&random, 100);
        const rdb::Status status = kind < 70   ? db->Put({}, key, std::to_string(i) + std::string(100, 'v'))
                                   : kind < 85 ? db->Delete({}, key)
                                   : kind < 99 ? db->Merge({}, key, std::to_string(i))
                                               : db->DeleteRange({}, db.family(0), key, key + "9");
        ASSERT_TRUE(Ok(status));
        if (i % 1'000 == 0) snapshots.push_back(db->GetSnapshot());
        if (i % 500 == 0) ScanBothWays(db.get(), {}, db.family(0), history);
      }
      for (const rdb::Snapshot* snapshot : snapshots) {
        rdb::ReadOptions options;
        options.snapshot = snapshot;
        ScanBothWays(db.get(), options, db.family(0), history);
        db->ReleaseSnapshot(snapshot);
      }
      db.Close();
    }
  }));
}

}  // namespace
}  // namespace strongbin
