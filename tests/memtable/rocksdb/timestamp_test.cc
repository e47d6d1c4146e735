// User-defined timestamps: keys whose last eight bytes are no part of the key for most of the engine.
#include <string>
#include <vector>

#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>

#include "strongbin/tests/memtable/rocksdb/test_db.h"

namespace strongbin {
namespace {

const rdb::Comparator* TimestampComparator() {
  const rdb::Comparator* comparator = nullptr;
  EXPECT_TRUE(Ok(rdb::Comparator::CreateFromString({}, "leveldb.BytewiseComparator.u64ts", &comparator)));
  return comparator;
}

std::string Timestamp(uint64_t time) { return {reinterpret_cast<const char*>(&time), sizeof(time)}; }

// Keys that end like a timestamp, or differ by what could be one or two. Not the empty one: on that DBIter::timestamp()
// asserts, with every memtable.
const std::vector<std::string>& Keys() {
  static const auto* const keys = new std::vector<std::string>{"foo",
                                                               "foo" + std::string(8, 'X'),
                                                               "foo" + std::string(16, 'X'),
                                                               "foo" + Timestamp(20),
                                                               "foo" + Timestamp(20) + Timestamp(30),
                                                               std::string(8, '\0'),
                                                               std::string(8, '\xFF')};
  return *keys;
}

void ReadAt(rdb::DB* db, uint64_t time, History* history) {
  const std::string encoded = Timestamp(time);
  const rdb::Slice timestamp(encoded);
  rdb::ReadOptions options;
  options.timestamp = &timestamp;
  const std::string prefix = "at " + std::to_string(time) + " ";
  for (const std::string& key : Keys()) {
    std::string value, found_time;
    const rdb::Status status = db->Get(options, key, &value, &found_time);
    history->Add(prefix + "get " + Shown(key) + " of " + Shown(found_time), status, value);
  }
  const std::vector<rdb::Slice> keys(Keys().begin(), Keys().end());
  const std::vector<rdb::ColumnFamilyHandle*> families(keys.size(), db->DefaultColumnFamily());
  std::vector<std::string> values, times;
  const std::vector<rdb::Status> statuses = db->MultiGet(options, families, keys, &values, &times);
  for (size_t i = 0; i < keys.size(); ++i) {
    history->Add(prefix + "multiget " + Shown(keys[i]) + " of " + Shown(times[i]), statuses[i], values[i]);
  }
  const std::unique_ptr<rdb::Iterator> iterator(db->NewIterator(options));
  const auto add = [&](const std::string& what) {
    history->Add(prefix + what + (iterator->Valid() ? " of " + Shown(iterator->timestamp()) : ""), *iterator);
  };
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) add("next");
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) add("prev");
  for (const std::string& key : Keys()) {
    iterator->Seek(key);
    add("seek " + Shown(key));
    iterator->SeekForPrev(key);
    add("seek for prev " + Shown(key));
  }
}

void ReadAllVersions(rdb::DB* db, History* history) {
  const std::string first = Timestamp(0), last = Timestamp(UINT64_MAX);
  const rdb::Slice start(first), end(last);
  rdb::ReadOptions options;
  options.iter_start_ts = &start;
  options.timestamp = &end;
  const std::unique_ptr<rdb::Iterator> iterator(db->NewIterator(options));
  ScanForward(iterator.get(), history);
}

class TimestampTest : public DbTest {};

TEST_F(TimestampTest, TimestampsReadTheSameAsWithTheSkipList) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    rdb::Options options = SmallOptions(rep);
    options.comparator = TimestampComparator();
    options.merge_operator = nullptr;
    const auto read_all = [&](rdb::DB* db) {
      for (const uint64_t time : {5u, 10u, 15u, 20u, 25u, 30u, 35u, 1000u}) ReadAt(db, time, history);
      ReadAllVersions(db, history);
    };
    TestDb db;
    for (const bool flushes : {false, true}) {
      ASSERT_TRUE(Ok(db.Open(options, path)));
      for (const uint64_t time : {10u, 20u, 30u}) {
        for (size_t i = 0; i < Keys().size(); ++i) {
          const uint64_t later = time + (flushes ? 100 : 0);
          const std::string value = Shown(Keys()[i]) + "@" + std::to_string(later);
          ASSERT_TRUE(Ok(db->Put({}, Keys()[i], Timestamp(later), value)));
          const bool is_deleted = i % 3 == time % 3;
          ASSERT_TRUE(Ok(is_deleted ? db->Delete({}, Keys()[i], Timestamp(later + 3)) : rdb::Status()));
        }
        read_all(db.get());
      }
      ASSERT_TRUE(Ok(flushes ? db->Flush({}) : rdb::Status()));
      read_all(db.get());
      db.Close();
    }
    ASSERT_TRUE(Ok(db.Open(options, path)));
    read_all(db.get());
    EXPECT_GT(history->lines().size(), 1000u);
  }));
}

// Random versions of random keys, each read at random times.
TEST_F(TimestampTest, RandomTimestampsReadTheSameAsWithTheSkipList) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    rdb::Options options = SmallOptions(rep);
    options.comparator = TimestampComparator();
    options.merge_operator = nullptr;
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(options, path)));
    Random random(3);
    uint64_t time = 1;
    for (size_t i = 0; i < TestScale(3'000, 100'000); ++i) {
      const std::string& key = Keys()[Below(&random, Keys().size())];
      time += Below(&random, 3);
      const rdb::Status written = OneIn(&random, 4) ? db->Delete({}, key, Timestamp(time))
                                                    : db->Put({}, key, Timestamp(time), std::to_string(i));
      ASSERT_TRUE(Ok(written));
      if (i % 200 == 0) ReadAt(db.get(), Below(&random, time + 2), history);
    }
    ReadAllVersions(db.get(), history);
  }));
}

}  // namespace
}  // namespace strongbin
