// What is read of an entry whose bytes have changed since they were written.
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

constexpr uint64_t kCount = 100;
const std::string kBitten = NumberKey(50, 24);

// As a stray write would: the bytes of keys and of copied values lie in the table's own memory.
void Flip(std::string_view byte_of) { const_cast<char&>(byte_of.front()) ^= 1; }

class ChecksumTest : public testing::TestWithParam<bool> {  // whether one sorted run lies under the walk
 protected:
  void SetUp() override {
    for (uint64_t i = 0; i < kCount; ++i) {
      const uint64_t number = GetParam() ? i : (i * 37 + 1) % kCount;
      ASSERT_TRUE(table_.Put(NumberKey(number, 24), i + 1, "value").ok());
    }
  }
  // How many entries a walk shows before it ends, and why it does.
  template <class Seek, class Step>
  std::pair<uint64_t, Status> Walk(Seek&& seek, Step&& step) {
    MemtableIterator iterator = table_.NewIterator();
    uint64_t count = 0;
    for (seek(&iterator); iterator.Valid(); step(&iterator)) ++count;
    return {count, iterator.status()};
  }
  std::pair<uint64_t, Status> Forwards() {
    return Walk([](MemtableIterator* it) { it->SeekToFirst(); }, [](MemtableIterator* it) { it->Next(); });
  }
  std::pair<uint64_t, Status> Backwards() {
    return Walk([](MemtableIterator* it) { it->SeekToLast(); }, [](MemtableIterator* it) { it->Prev(); });
  }

  ChunkPool pool_;
  AppendOnlyMemtable table_{{.pool = &pool_, .checksum_entries = true}};
};

TEST_P(ChecksumTest, AChangedValueIsNeverShown) {
  const std::string_view value = table_.Get(kBitten).value;
  Flip(value);
  EXPECT_EQ(table_.Get(kBitten).status.code(), Status::Code::kCorruption);
  EXPECT_FALSE(table_.Get(kBitten).found());
  EXPECT_TRUE(table_.Get(NumberKey(51, 24)).found());

  for (const auto& [count, status] : {Forwards(), Backwards()}) {
    EXPECT_EQ(status.code(), Status::Code::kCorruption);
    EXPECT_LT(count, kCount);
  }
  MemtableIterator iterator = table_.NewIterator();
  iterator.Seek(kBitten);
  EXPECT_FALSE(iterator.Valid());
  EXPECT_EQ(iterator.status().code(), Status::Code::kCorruption);

  Flip(value);
  EXPECT_EQ(table_.Get(kBitten).value, "value");
  EXPECT_EQ(Forwards(), std::pair(kCount, Status()));
}

TEST_P(ChecksumTest, AChangedKeyIsNeverShown) {
  std::string_view key;
  {
    MemtableIterator iterator = table_.NewIterator();
    iterator.Seek(kBitten);
    ASSERT_TRUE(iterator.Valid());
    key = iterator.key().substr(20);
  }
  Flip(key);
  EXPECT_FALSE(table_.Get(kBitten).found());
  for (const auto& [count, status] : {Forwards(), Backwards()}) {
    EXPECT_EQ(status.code(), Status::Code::kCorruption);
    EXPECT_LT(count, kCount);
  }
  Flip(key);
  EXPECT_EQ(Backwards(), std::pair(kCount, Status()));
}

TEST_P(ChecksumTest, AnIteratorThatMetOneGoesOnFromElsewhere) {
  Flip(table_.Get(kBitten).value);
  MemtableIterator iterator = table_.NewIterator();
  iterator.Seek(kBitten);
  ASSERT_FALSE(iterator.Valid());
  iterator.Seek(NumberKey(51, 24));
  ASSERT_TRUE(iterator.Valid());
  EXPECT_EQ(iterator.key(), NumberKey(51, 24));
  EXPECT_TRUE(iterator.status().ok());
}

TEST_P(ChecksumTest, BorrowedValuesAreWatchedToo) {
  std::string mine = "mine";
  ASSERT_TRUE(table_.Append({.key = kBitten, .sequence = 1000, .value = mine, .value_mode = ValueMode::kBorrow}).ok());
  mine[0] = 'n';
  EXPECT_EQ(table_.Get(kBitten).status.code(), Status::Code::kCorruption);
  EXPECT_EQ(table_.Get(kBitten, 999).value, "value");
}

INSTANTIATE_TEST_SUITE_P(Orders, ChecksumTest, testing::Bool(),
                         [](const auto& param_info) { return param_info.param ? "Ascending" : "Mixed"; });

}  // namespace
}  // namespace strongbin
