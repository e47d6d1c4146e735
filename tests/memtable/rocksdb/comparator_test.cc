// Orders other than the bytewise one: nothing that compares, hashes or shortens keys by their bytes may show.
#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <rocksdb/comparator.h>
#include <rocksdb/snapshot.h>

#include "strongbin/tests/memtable/rocksdb/test_db.h"

namespace strongbin {
namespace {

// Compares without what an index of table files would shorten.
class PlainComparator : public rdb::Comparator {
 public:
  void FindShortestSeparator(std::string*, const rdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
  bool CanKeysWithDifferentByteContentsBeEqual() const override { return false; }
};

uint64_t AsNumber(const rdb::Slice& key) {
  uint64_t number = 0;
  EXPECT_EQ(key.size(), sizeof(number)) << "a key that nobody wrote";
  if (key.size() == sizeof(number)) std::memcpy(&number, key.data(), sizeof(number));
  return number;
}

class HostNumberComparator final : public PlainComparator {
 public:
  const char* Name() const override { return "HostNumberComparator"; }
  int Compare(const rdb::Slice& a, const rdb::Slice& b) const override {
    const uint64_t x = AsNumber(a), y = AsNumber(b);
    return x < y ? -1 : x > y;
  }
};

std::string Folded(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

class CaseFoldingComparator final : public PlainComparator {
 public:
  const char* Name() const override { return "CaseFoldingComparator"; }
  int Compare(const rdb::Slice& a, const rdb::Slice& b) const override {
    return Folded(a.ToString()).compare(Folded(b.ToString()));
  }
  bool CanKeysWithDifferentByteContentsBeEqual() const override { return true; }
};

std::string RandomNumberKey(Random* random) {
  // Numbers whose bytes, read from the first, order otherwise than the numbers.
  const uint64_t number = Below(random, 4) << (8 * Below(random, 8)) | Below(random, 300);
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}
std::string RandomWord(Random* random) {
  std::string word(1 + Below(random, 12), ' ');
  for (char& c : word) c = "abABxX"[Below(random, 6)];
  return word;
}

struct Order {
  const char* name;
  const rdb::Comparator* comparator;
  std::string (*random_key)(Random* random);
};

const std::vector<Order>& Orders() {
  static const auto* const orders = new std::vector<Order>{
      {"Bytewise", rdb::BytewiseComparator(), RandomWord},
      {"ReverseBytewise", rdb::ReverseBytewiseComparator(), RandomWord},
      {"HostNumbers", new HostNumberComparator, RandomNumberKey},
      {"CaseFolding", new CaseFoldingComparator, RandomWord},
  };
  return *orders;
}

class ComparatorTest : public DbTest, public testing::WithParamInterface<Order> {
 protected:
  static void Write(rdb::DB* db, Random* random) {
    const std::string key = GetParam().random_key(random);
    const std::string value = std::to_string((*random)());
    const uint64_t kind = Below(random, 100);
    rdb::Status status;
    if (kind < 60) {
      status = db->Put({}, key, value);
    } else if (kind < 75) {
      status = db->Delete({}, key);
    } else if (kind < 98) {
      status = db->Merge({}, key, value);
    } else {
      const std::string other = GetParam().random_key(random);
      const bool is_before = GetParam().comparator->Compare(key, other) < 0;
      status = db->DeleteRange({}, db->DefaultColumnFamily(), is_before ? key : other, is_before ? other : key);
    }
    ASSERT_TRUE(Ok(status));
  }

  static void Read(rdb::DB* db, const rdb::ReadOptions& options, Random* random, History* history) {
    ScanBothWays(db, options, db->DefaultColumnFamily(), history);
    const std::unique_ptr<rdb::Iterator> iterator(db->NewIterator(options));
    for (int i = 0; i < 50; ++i) {
      const std::string key = GetParam().random_key(random);
      std::string value;
      const rdb::Status status = db->Get(options, key, &value);
      history->Add("get " + Shown(key), status, value);
      iterator->Seek(key);
      history->Add("seek " + Shown(key), *iterator);
      if (iterator->Valid()) iterator->Prev();
      history->Add("and back", *iterator);
      iterator->SeekForPrev(key);
      history->Add("seek for prev " + Shown(key), *iterator);
    }
  }

  static void Work(Rep rep, const std::string& path, History* history) {
    rdb::Options options = SmallOptions(rep);
    options.comparator = GetParam().comparator;
    TestDb db;
    Random random(1);
    for (size_t generation = 0; generation < TestScale(3, 30); ++generation) {
      ASSERT_TRUE(Ok(db.Open(options, path)));
      Read(db.get(), {}, &random, history);
      rdb::ReadOptions at_snapshot;
      for (int i = 0; i < 1000; ++i) {
        Write(db.get(), &random);
        if (i == 300) at_snapshot.snapshot = db->GetSnapshot();
        if (i == 600) history->Add("flush", db->Flush({}));
        if (i % 150 == 149) Read(db.get(), i < 300 ? rdb::ReadOptions() : at_snapshot, &random, history);
      }
      db->ReleaseSnapshot(at_snapshot.snapshot);
      db.Close();
    }
  }
};

TEST_P(ComparatorTest, SameResultsAsTheSkipList) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    History seen;
    Work(rep, path, &seen);
    EXPECT_GT(seen.lines().size(), 5000u);
    // Which of several equal keys an iterator shows depends on when a flush dropped the others.
    const bool folds = GetParam().comparator->CanKeysWithDifferentByteContentsBeEqual();
    for (const std::string& line : seen.lines()) history->Add(folds ? Folded(line) : line);
  }));
}

std::string NameOf(const testing::TestParamInfo<Order>& order) { return order.param.name; }
INSTANTIATE_TEST_SUITE_P(Orders, ComparatorTest, testing::ValuesIn(Orders()), NameOf);

class SharedFactoryTest : public DbTest {};

TEST_F(SharedFactoryTest, OneFactoryServesColumnFamiliesOfDifferentOrders) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    const rdb::Options options = SmallOptions(rep);
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(options, path)));
    std::vector<rdb::ColumnFamilyHandle*> families;
    for (const Order& order : Orders()) {
      rdb::ColumnFamilyOptions of_family = options;
      of_family.comparator = order.comparator;
      families.push_back(nullptr);
      ASSERT_TRUE(Ok(db->CreateColumnFamily(of_family, order.name, &families.back())));
    }
    Random random(2);
    for (int i = 0; i < 4000; ++i) {
      const size_t family = Below(&random, families.size());
      const std::string key = Orders()[family].random_key(&random);
      ASSERT_TRUE(Ok(db->Put({}, families[family], key, std::to_string(i))));
    }
    for (rdb::ColumnFamilyHandle* family : families) {
      history->Add(family->GetName());
      ScanBothWays(db.get(), {}, family, history);
      EXPECT_TRUE(Ok(db->DestroyColumnFamilyHandle(family)));
    }
  }));
}

class FallbackTest : public DbTest {
 protected:
  static std::string Log(const std::string& path) {
    std::ifstream file(path + "/LOG");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static size_t Mentions(const std::string& text, const std::string& what) {
    size_t count = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
    return count;
  }
};

TEST_F(FallbackTest, IsCountedForEachMemtableAndLoggedOnceForTheFactory) {
  rdb::Options options = SmallOptions(Rep::kStrongbin);
  TestDb db;
  ASSERT_TRUE(Ok(db.Open(options, Path("ours"))));
  const RocksDBStats before = Stats().rocksdb;
  EXPECT_GE(before.made_memtables, 1u);
  EXPECT_EQ(before.memtables, 1u);
  EXPECT_EQ(Mentions(Log(Path("ours")), "memtables are RocksDB's skip list"), 0u);
  db.Close();

  options.comparator = rdb::ReverseBytewiseComparator();
  ASSERT_TRUE(Ok(db.Open(options, Path("reverse"))));
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(Ok(db->Put({}, "key", "value")));
    ASSERT_TRUE(Ok(db->Flush({})));
  }
  const RocksDBStats after = Stats().rocksdb;
  EXPECT_EQ(after.made_memtables, before.made_memtables);
  EXPECT_GE(after.fallback_memtables, before.fallback_memtables + 6);
  EXPECT_EQ(Mentions(Log(Path("reverse")), "memtables are RocksDB's skip list"), 1u);
}

// DB::Open refuses such a column family; CreateColumnFamily asks nobody.
TEST_F(FallbackTest, IsTakenForAnOrderThatContradictsTheOptions) {
  rdb::Options options = SmallOptions(Rep::kStrongbin);
  options.memtable_factory = NewAppendOnlyRepFactory({.order = RepOrder::kBytewise});
  TestDb db;
  ASSERT_TRUE(Ok(db.Open(options, Path("db"))));
  options.comparator = rdb::ReverseBytewiseComparator();
  rdb::ColumnFamilyHandle* family = nullptr;
  ASSERT_TRUE(Ok(db->CreateColumnFamily(options, "reverse", &family)));
  for (const char* key : {"b", "a", "d", "c"}) ASSERT_TRUE(Ok(db->Put({}, family, key, key)));
  std::string seen;
  for (const bool is_flushed : {false, true}) {
    ASSERT_TRUE(Ok(is_flushed ? db->Flush({}, family) : rdb::Status()));
    const std::unique_ptr<rdb::Iterator> iterator(db->NewIterator({}, family));
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) seen += iterator->key().ToString();
  }
  EXPECT_EQ(seen, "dcbadcba");
  EXPECT_TRUE(Ok(db->DestroyColumnFamilyHandle(family)));
}

}  // namespace
}  // namespace strongbin
