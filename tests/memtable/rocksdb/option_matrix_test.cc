// Every option that touches a memtable, alone and in pairs: DB::Open answers as with the skip list, and where it opens,
// the same work has the same results.
#include <algorithm>
#include <string>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/utilities/options_type.h>

#include "strongbin/tests/memtable/rocksdb/test_db.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

const std::vector<std::string> kFamilies = {rdb::kDefaultColumnFamilyName, "second"};
constexpr size_t kPrefixBytes = 3;

struct Case {
  const char* name;
  std::string options;
};
const std::vector<Case> kCases = {
    {"NoConcurrentWrite", "allow_concurrent_memtable_write=false"},
    {"UnorderedWrite", "unordered_write=true"},
    {"PipelinedWrite", "enable_pipelined_write=true"},
    {"TwoWriteQueues", "two_write_queues=true"},
    {"InplaceUpdate", "inplace_update_support=true"},
    // RocksDB opens with in-place updates only thus.
    {"InplaceUpdateNoConcurrentWrite", "inplace_update_support=true;allow_concurrent_memtable_write=false"},
    {"SuccessiveMerges", "max_successive_merges=3"},
    {"PrefixBloom", "memtable_prefix_bloom_size_ratio=0.1;prefix_extractor=fixed:3"},
    {"WholeKeyFiltering", "memtable_whole_key_filtering=true"},
    {"WholeKeyBloom", "memtable_whole_key_filtering=true;memtable_prefix_bloom_size_ratio=0.1"},
    {"InsertHint", "memtable_insert_with_hint_prefix_extractor=fixed:3"},
    {"HugePages", "memtable_huge_page_size=2M"},
    {"AtomicFlush", "atomic_flush=true"},
    {"MaintainedMemtables", "max_write_buffer_size_to_maintain=256K"},
    {"MergedMemtables", "min_write_buffer_number_to_merge=3;max_write_buffer_number=6"},
    {"Mempurge", "experimental_mempurge_threshold=1.0"},
    {"Protection", "memtable_protection_bytes_per_key=8"},
};

rdb::Status SetOptions(const std::string& text, rdb::Options* options) {
  return rdb::GetOptionsFromString({}, *options, text, options);
}

// Few keys over a small alphabet, so that most operations meet older versions.
std::string SmallKey(Random* random) {
  std::string key(kPrefixBytes + 2, 'a');
  for (char& c : key) c = static_cast<char>('a' + Below(random, 3));
  return key;
}

rdb::Status Write(rdb::DB* db, rdb::ColumnFamilyHandle* family, Random* random) {
  const std::string key = SmallKey(random);
  const std::string value(1 + Below(random, 400), static_cast<char>('a' + Below(random, 26)));
  const uint64_t kind = Below(random, 100);
  if (kind < 50) return db->Put({}, family, key, value);
  if (kind < 65) return db->Delete({}, family, key);
  if (kind < 85) return db->Merge({}, family, key, value.substr(0, 20));
  rdb::WriteBatch batch;
  for (uint64_t i = 0; i < 5; ++i) {
    const std::string other = i == 4 ? key : SmallKey(random);
    const rdb::Status status = i == 3 ? batch.Delete(family, other) : batch.Put(family, other, value);
    if (!status.ok()) return status;
  }
  return db->Write({}, &batch);
}

void Read(rdb::DB* db, rdb::ColumnFamilyHandle* family, Random* random, History* history) {
  const std::string key = SmallKey(random);
  std::string value;
  const rdb::Status status = db->Get({}, family, key, &value);
  history->Add("get " + key, status, value);
}

void ReadAll(rdb::DB* db, rdb::ColumnFamilyHandle* family, const rdb::Options& options, History* history) {
  rdb::ReadOptions whole;
  whole.total_order_seek = true;
  ScanBothWays(db, whole, family, history);
  const std::unique_ptr<rdb::Iterator> seeking(db->NewIterator(whole, family));
  Random random(7);
  for (int i = 0; i < 20; ++i) {
    const std::string key = SmallKey(&random);
    seeking->Seek(key);
    history->Add("seek " + key, *seeking);
    seeking->SeekForPrev(key);
    history->Add("seek for prev " + key, *seeking);
    Read(db, family, &random, history);
  }
  if (options.prefix_extractor == nullptr) return;
  rdb::ReadOptions within_prefix;
  within_prefix.prefix_same_as_start = true;
  const std::unique_ptr<rdb::Iterator> iterator(db->NewIterator(within_prefix, family));
  for (const char* prefix : {"aaa", "bca", "ccc"}) {
    for (iterator->Seek(prefix); iterator->Valid(); iterator->Next()) history->Add(prefix, *iterator);
  }
}

// Some memtables full of writes and reads; flushed, closed and opened again with the newest writes in the log alone.
void Work(Rep rep, const std::string& path, const std::string& option_text, History* history) {
  rdb::Options options = SmallOptions(rep);
  options.create_missing_column_families = true;
  history->Add("options", SetOptions(option_text, &options));
  TestDb db;
  for (uint64_t generation = 0; generation < TestScale(2, 4); ++generation) {
    const rdb::Status open = db.Open(options, path, kFamilies);
    history->Add("open", open);
    if (!open.ok()) return;
    EXPECT_STREQ(db->GetOptions(db.family(1)).memtable_factory->Name(), NewFactory(rep)->Name());
    for (size_t family = 0; family < kFamilies.size(); ++family) {
      ReadAll(db.get(), db.family(family), options, history);
    }
    Random random(generation);
    for (int i = 0; i < 240; ++i) {
      rdb::ColumnFamilyHandle* const family = db.family(Below(&random, 2));
      const rdb::Status written = Write(db.get(), family, &random);
      if (!written.ok()) history->Add("write", written);
      if (i % 10 == 0) Read(db.get(), family, &random, history);
      if (i == 160) history->Add("flush", db->Flush({}, {db.family(0), db.family(1)}));
      if (i % 100 == 99) ReadAll(db.get(), family, options, history);
    }
    db.Close();
  }
}

class OptionMatrixTest : public DbTest, public testing::WithParamInterface<size_t> {};

TEST_F(OptionMatrixTest, DefaultsAndOurFactoryOpenAndWork) {
  rdb::Options options;
  options.create_if_missing = true;
  options.memtable_factory = NewAppendOnlyRepFactory();
  TestDb db;
  ASSERT_TRUE(Ok(db.Open(options, Path("db"))));
  ASSERT_TRUE(Ok(db->Put({}, "key", "value")));
  std::string value;
  EXPECT_TRUE(Ok(db->Get({}, "key", &value)));
  EXPECT_EQ(value, "value");
  db.Close();
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    Work(rep, path, "", history);
    EXPECT_GT(history->lines().size(), 1000u);
  }));
}

// Under sanitizers with the next two alone.
TEST_P(OptionMatrixTest, AloneAndWithEachLaterOne) {
  const size_t end = std::min<size_t>(kCases.size(), GetParam() + Scaled(kCases.size(), 3));
  for (size_t other = GetParam(); other < end; ++other) {
    std::string text = kCases[GetParam()].options;
    if (other != GetParam()) text += ";" + kCases[other].options;
    SCOPED_TRACE(text);
    EXPECT_TRUE(SameWithBoth([&](Rep rep, const std::string& path, History* history) {
      Work(rep, path, text, history);
      EXPECT_EQ(history->lines().front(), "options: OK");
    }));
  }
}

std::string NameOf(const testing::TestParamInfo<size_t>& param) { return kCases[param.param].name; }
INSTANTIATE_TEST_SUITE_P(Matrix, OptionMatrixTest, testing::Range(size_t{0}, kCases.size()), NameOf);

}  // namespace
}  // namespace strongbin
