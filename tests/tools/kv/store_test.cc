#include "strongbin/tools/kv/store.h"

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "strongbin/tests/test_scale.h"
#include "strongbin/tests/tools/kv/store_fixture.h"
#include "strongbin/tools/kv/directory.h"

namespace strongbin::kv {
namespace {

TEST_F(StoreTest, NewestVersionIsReadWhereverItLies) {
  ASSERT_TRUE(Reopen().ok());
  Put("a", "1");
  Put("b", "1");
  Put("c", "1");
  ASSERT_TRUE(store_->Flush().ok());
  Put("b", "2");
  Delete("c");
  Put("d", "");
  for (const bool flushed : {false, true}) {
    EXPECT_EQ(Get("a"), "1");
    EXPECT_EQ(Get("b"), "2");
    EXPECT_TRUE(Get("c").starts_with("NotFound"));
    EXPECT_EQ(Get("d"), "");
    EXPECT_EQ(Scan(), (Content{{"a", "1"}, {"b", "2"}, {"d", ""}}));
    EXPECT_EQ(Scan("b"), (Content{{"b", "2"}, {"d", ""}}));
    if (!flushed) {
      ASSERT_TRUE(store_->Flush().ok());
    }
  }
}

TEST_F(StoreTest, BatchesAreAllOrNothing) {
  ASSERT_TRUE(Reopen().ok());
  Batch batch;
  batch.Put("a", "1");
  batch.Put("a", "2");
  batch.Delete("b");
  ASSERT_TRUE(store_->Write(batch).ok());
  EXPECT_EQ(Scan(), (Content{{"a", "2"}}));
  batch.Clear();
  EXPECT_TRUE(store_->Write(batch).ok());
  batch.Put("c", {"", kMaxBlobBytes});  // is not read: it does not fit
  batch.Put("d", "1");
  EXPECT_TRUE(store_->Write(batch).IsInvalidArgument());
  EXPECT_EQ(Scan(), (Content{{"a", "2"}}));
}

TEST_F(StoreTest, AgreesWithAMapThroughRotationsAndReopenings) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  options_.table_bytes = size_t{64} << 10;
  ASSERT_TRUE(Reopen().ok());
  Content model;
  const size_t batches = TestScale(3000, 30'000);
  uint64_t flushed_count = 0;  // by the stores before the one that is open
  for (size_t i = 0; i < batches; ++i) {
    Batch batch;
    for (unsigned n = random() % 8; n > 0; --n) {
      const std::string key = "key" + std::to_string(random() % 500);
      if (random() % 4 == 0) {
        batch.Delete(key);
        model.erase(key);
      } else {
        const std::string value(random() % 200, static_cast<char>('a' + random() % 26));
        batch.Put(key, value);
        model[key] = value;
      }
    }
    ASSERT_TRUE(store_->Write(batch).ok());
    if (random() % 500 == 0) {
      flushed_count += store_->FlushedTables().tables;
      ASSERT_TRUE(Reopen().ok());
    }
    if (random() % 500 == 0) {
      ASSERT_TRUE(store_->Flush().ok());
    }
    if (random() % 200 == 0) {
      ASSERT_EQ(Scan(), model) << "after batch " << i;
    }
    const std::string key = "key" + std::to_string(random() % 500);
    const auto expected = model.find(key);
    if (expected == model.end()) {
      ASSERT_TRUE(Get(key).starts_with("NotFound")) << "after batch " << i;
    } else {
      ASSERT_EQ(Get(key), expected->second) << "after batch " << i;
    }
  }
  EXPECT_GT(flushed_count + store_->FlushedTables().tables, 1u);
  EXPECT_EQ(Scan(), model);
}

TEST_F(StoreTest, TablesAreReusedAndTheirChunksComeOutOfThePool) {
  options_.log = LogMode::kNone;
  ASSERT_TRUE(Reopen().ok());
  const std::string value(100, 'v');
  uint64_t number = 0;
  const auto fill = [&] {
    for (int i = 0; i < 20'000; ++i) Put("key " + std::to_string(number++), value);
    ASSERT_TRUE(store_->Flush().ok());
  };
  for (int i = 0; i < 3; ++i) fill();
  const PoolStats stats = pool_.Stats();
  constexpr auto kKey = static_cast<size_t>(ChunkKind::k_key);
  EXPECT_GT(stats.fresh_chunks[kKey], 0u);
  // At most six tables are there at a time, of more than thirty.
  EXPECT_GT(store_->FlushedTables().tables, 30u);
  EXPECT_LT(stats.fresh_chunks[kKey] * 3, stats.kind_gets[kKey]);
}

TEST_F(StoreTest, FlushedLogsAreDeletedAndOneIsLeft) {
  ASSERT_TRUE(Reopen().ok());
  const std::string value(1000, 'v');
  for (int i = 0; i < 2000; ++i) Put("key " + std::to_string(i), value);
  ASSERT_TRUE(store_->Flush().ok());
  std::vector<uint64_t> logs;
  ASSERT_TRUE(ListLogs(options_.directory, &logs).ok());
  ASSERT_EQ(logs.size(), 1u);
  EXPECT_GT(logs[0], 5u);
}

TEST_F(StoreTest, ReadersBesideWritersAndFlushesSeeWhatWasWritten) {
  options_.log = LogMode::kNone;
  options_.table_bytes = size_t{64} << 10;
  ASSERT_TRUE(Reopen().ok());
  constexpr int kKeys = 100;
  std::atomic<uint64_t> written{0};  // rounds over all keys that are complete
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      std::mt19937 random(std::random_device{}());
      while (!done) {
        const uint64_t at_least = written;
        const std::string key = std::to_string(random() % kKeys);
        if (at_least > 0) {
          EXPECT_GE(std::stoull(Get(key)), at_least);
        }
        if (random() % 20 != 0) continue;
        // One moment: all values of a scan come from two rounds that follow each other.
        uint64_t low = ~uint64_t{0}, high = 0;
        const Content content = Scan();
        for (const auto& [name, value] : content) {
          low = std::min<uint64_t>(low, std::stoull(value));
          high = std::max<uint64_t>(high, std::stoull(value));
        }
        if (!content.empty()) {
          EXPECT_LE(high, low + 1);
        }
      }
    });
  }
  const size_t rounds = TestScale(300, 5000);
  for (size_t round = 1; round <= rounds; ++round) {
    for (int key = 0; key < kKeys; ++key) Put(std::to_string(key), std::to_string(round));
    written = round;
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(store_->FlushedTables().tables, 3u);
}

TEST_F(StoreTest, AFailedFlushStopsWritesAndLeavesContentReadable) {
  ASSERT_TRUE(Reopen().ok());
  Put("a", "1");
  // A folder stands where the file should be made, and cannot be deleted as a file is.
  std::filesystem::create_directories(options_.directory + "/flush.sst/full");
  EXPECT_FALSE(store_->Flush().ok());
  Batch batch;
  batch.Put("b", "1");
  EXPECT_FALSE(store_->Write(batch).ok());
  EXPECT_EQ(Get("a"), "1");
  store_.reset();
  std::filesystem::remove_all(options_.directory + "/flush.sst");
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Scan(), (Content{{"a", "1"}}));
}

TEST_F(StoreTest, ASecondStoreInTheSameFolderIsRefused) {
  ASSERT_TRUE(Reopen().ok());
  std::unique_ptr<Store> second;
  EXPECT_FALSE(Store::Open(options_, &second).ok());
}

}  // namespace
}  // namespace strongbin::kv
