// Writers, readers and iterators at once, in every way that RocksDB orders writes. Plain and concurrent inserts
// alternate within one memtable: the engine chooses anew for each group of writes.
#include <atomic>
#include <string>

#include <rocksdb/convenience.h>

#include "strongbin/tests/memtable/on_threads.h"
#include "strongbin/tests/memtable/rocksdb/memtable_counter.h"
#include "strongbin/tests/memtable/rocksdb/test_db.h"

namespace strongbin {
namespace {

constexpr uint64_t kWriters = 4;
constexpr uint64_t kHotKeys = 8;

struct Way {
  const char* name;
  const char* options;
};
constexpr Way kWays[] = {
    {"Default", "allow_concurrent_memtable_write=true"},
    {"NotConcurrent", "allow_concurrent_memtable_write=false"},
    {"Pipelined", "enable_pipelined_write=true"},
    {"PipelinedNotConcurrent", "enable_pipelined_write=true;allow_concurrent_memtable_write=false"},
    {"Unordered", "unordered_write=true"},
    {"TwoQueues", "two_write_queues=true"},
    {"UnorderedTwoQueues", "unordered_write=true;two_write_queues=true"},
    {"AdaptiveYieldOff", "enable_write_thread_adaptive_yield=false"},
};

std::string OwnKey(uint64_t writer, uint64_t number) { return NumberKey(Scramble(number * kWriters + writer), 20); }
std::string HotKey(uint64_t number) { return "hot " + std::to_string(number); }
std::string ValueOf(const std::string& key) { return key + std::string(static_cast<size_t>(key.back() - '0'), 'v'); }

class ConcurrencyTest : public DbTest, public testing::WithParamInterface<Way> {
 protected:
  static uint64_t EachWrites() { return TestScale(Scaled(6'000, 2'000), Scaled(60'000, 20'000)); }

  void Write(uint64_t writer) {
    for (uint64_t i = 0; i < EachWrites();) {
      // Sometimes alone, sometimes in a batch, with a hot key that all writers overwrite.
      rdb::WriteBatch batch;
      const uint64_t end = std::min(EachWrites(), i + 1 + i % 5);
      for (; i < end; ++i) Expect(batch.Put(OwnKey(writer, i), ValueOf(OwnKey(writer, i))).ok());
      Expect(batch.Put(HotKey(i % kHotKeys), std::to_string(writer)).ok());
      Expect(db_->Write({}, &batch).ok());
      written_[writer].store(i, std::memory_order_release);
    }
    active_writers_.fetch_sub(1);
  }

  bool HasRightValue(const rdb::ReadOptions& options, const std::string& key) {
    std::string value;
    return db_->Get(options, key, &value).ok() && value == ValueOf(key);
  }

  void ReadPoints(Random* random) {
    while (active_writers_.load() > 0) {
      const uint64_t writer = Below(random, kWriters);
      const uint64_t count = written_[writer].load(std::memory_order_acquire);
      if (count > 0) Expect(HasRightValue({}, OwnKey(writer, Below(random, count))));
      std::string value;
      Expect(!db_->Get({}, "absent " + std::to_string(count), &value).ok());
    }
  }

  // What was written before an iterator was made is there; all is in order.
  void Scan(bool forward) {
    while (active_writers_.load() > 0) {
      uint64_t before = 0;
      for (const auto& count : written_) before += count.load(std::memory_order_acquire);
      const std::unique_ptr<rdb::Iterator> iterator(db_->NewIterator({}));
      uint64_t seen = 0;
      std::string last;
      for (forward ? iterator->SeekToFirst() : iterator->SeekToLast(); iterator->Valid();
           forward ? iterator->Next() : iterator->Prev()) {
        const std::string key = iterator->key().ToString();
        if (!last.empty()) Expect(forward ? last < key : key < last);
        last = key;
        if (key[0] == 'h') continue;
        ++seen;
        Expect(iterator->value() == ValueOf(key));
      }
      Expect(iterator->status().ok());
      Expect(seen >= before);
    }
  }

  // A tailing iterator, again and again: sees what was written before each seek.
  void Tail(Random* random) {
    rdb::ReadOptions options;
    options.tailing = true;
    const std::unique_ptr<rdb::Iterator> tail(db_->NewIterator(options));
    while (active_writers_.load() > 0) {
      const uint64_t writer = Below(random, kWriters);
      const uint64_t count = written_[writer].load(std::memory_order_acquire);
      if (count == 0) continue;
      const std::string key = OwnKey(writer, count - 1);
      tail->Seek(key);
      Expect(tail->Valid() && tail->key() == key && tail->value() == ValueOf(key));
    }
  }

  void ExpectAll() {
    for (uint64_t writer = 0; writer < kWriters; ++writer) {
      for (uint64_t i = 0; i < EachWrites(); ++i) ASSERT_TRUE(HasRightValue({}, OwnKey(writer, i))) << i;
    }
    const std::unique_ptr<rdb::Iterator> iterator(db_->NewIterator({}));
    uint64_t seen = 0;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++seen;
    EXPECT_EQ(seen, kWriters * EachWrites() + kHotKeys);
  }

  void Expect(bool is_right) {
    if (!is_right) wrong_.fetch_add(1);
  }

  TestDb db_;
  std::array<std::atomic<uint64_t>, kWriters> written_{};
  std::atomic<uint64_t> active_writers_{kWriters};
  std::atomic<uint64_t> wrong_{0};
};

TEST_P(ConcurrencyTest, EveryKeyIsFoundByEveryReader) {
  rdb::Options options = SmallOptions(Rep::kStrongbin);
  options.write_buffer_size = 512 << 10;
  ASSERT_TRUE(Ok(rdb::GetOptionsFromString({}, options, GetParam().options, &options)));
  const auto counter = CountMemtables(&options);
  ASSERT_TRUE(Ok(db_.Open(options, Path("db"))));
  OnThreads(kWriters + 5, [this](uint64_t thread) {
    Random random(thread);
    if (thread < kWriters) return Write(thread);
    if (thread == kWriters) return Scan(/*forward=*/true);
    if (thread == kWriters + 1) return Scan(/*forward=*/false);
    if (thread == kWriters + 2) return Tail(&random);
    ReadPoints(&random);
  });
  EXPECT_EQ(wrong_.load(), 0u);
  EXPECT_GE(counter->sealed(), 1u) << "memtables must have been switched while all went on";
  ExpectAll();
  db_.Close();
  ASSERT_TRUE(Ok(db_.Open(options, Path("db"))));
  ExpectAll();
}

std::string NameOf(const testing::TestParamInfo<Way>& way) { return way.param.name; }
INSTANTIATE_TEST_SUITE_P(Ways, ConcurrencyTest, testing::ValuesIn(kWays), NameOf);

}  // namespace
}  // namespace strongbin
