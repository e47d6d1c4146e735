// Values up to many times the size of a memtable.
#include <string>

#include "strongbin/pool/size_class.h"
#include "strongbin/tests/memtable/rocksdb/memtable_counter.h"
#include "strongbin/tests/memtable/rocksdb/test_db.h"

namespace strongbin {
namespace {

std::string ValueOf(uint64_t number, size_t bytes) {
  std::string value(bytes, static_cast<char>('a' + number % 26));
  value.front() = '<';
  value.back() = '>';
  return value;
}
std::string KeyOf(uint64_t number) { return "huge " + std::to_string(number); }

class HugeValueTest : public DbTest, public testing::WithParamInterface<size_t> {
 protected:
  static constexpr size_t kMemtableBytes = 4 << 20;
  static size_t ValueBytes() { return GetParam(); }
  static uint64_t Count() { return std::max<uint64_t>(3, (24 << 20) / ValueBytes()); }

  static void ExpectOne(rdb::DB* db, uint64_t number) {
    std::string value;
    EXPECT_TRUE(Ok(db->Get({}, KeyOf(number), &value)));
    EXPECT_TRUE(value == ValueOf(number, ValueBytes())) << "value " << number;
    EXPECT_TRUE(Ok(db->Get({}, KeyOf(number) + " small", &value)));
  }

  // How many memtables it took.
  uint64_t Work(Rep rep) const {
    rdb::Options options = SmallOptions(rep);
    options.write_buffer_size = kMemtableBytes;
    const auto counter = CountMemtables(&options);
    TestDb db;
    EXPECT_TRUE(Ok(db.Open(options, Path(NewFactory(rep)->Name()))));
    for (uint64_t i = 0; i < Count(); ++i) {
      EXPECT_TRUE(Ok(db->Put({}, KeyOf(i), ValueOf(i, ValueBytes()))));
      EXPECT_TRUE(Ok(db->Put({}, KeyOf(i) + " small", "small")));
      ExpectOne(db.get(), i);
      // One memtable that is written to and at most two that wait for their flush: then RocksDB makes writers wait.
      EXPECT_LE(LentBytes(), 3 * (kMemtableBytes + ValueBytes() + kMaxChunkBytes));
    }
    const uint64_t sealed = counter->sealed();
    EXPECT_TRUE(Ok(db->Flush({})));
    for (uint64_t i = 0; i < Count(); ++i) ExpectOne(db.get(), i);
    EXPECT_LE(LentBytes(), kMaxChunkBytes) << "after the flush only an empty memtable is there";
    return sealed;
  }
};

TEST_P(HugeValueTest, AreReadBackAndEndTheirMemtables) {
  const uint64_t sealed = Work(Rep::kStrongbin);
  EXPECT_GE(sealed, 1u);
  if (ValueBytes() > kMemtableBytes) {
    EXPECT_EQ(sealed, Count());
    EXPECT_EQ(sealed, Work(Rep::kSkipList));
  }
}

std::string NameOf(const testing::TestParamInfo<size_t>& bytes) { return std::to_string(bytes.param) + "Bytes"; }
INSTANTIATE_TEST_SUITE_P(Sizes, HugeValueTest,
                         testing::Values(size_t{512} << 10, size_t{1} << 20, (size_t{1} << 20) + 1, size_t{8} << 20,
                                         TestScale(20, 100) << 20),
                         NameOf);

}  // namespace
}  // namespace strongbin
