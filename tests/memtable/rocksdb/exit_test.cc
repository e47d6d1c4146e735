// Processes and threads that end in the middle of it all. Each test runs in a child that must exit with 0; a sanitizer
// that finds a leak or a use after free there says otherwise.
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "strongbin/tests/memtable/rocksdb/test_db.h"

namespace strongbin {
namespace {

class ExitTest : public DbTest {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // In a child: whatever fails ends it with 1.
  static void Require(const rdb::Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::_Exit(1);
  }
  rdb::DB* Open() const {
    rdb::DB* db = nullptr;
    // No memtable ends meanwhile: whatever RocksDB writes into its log after its static destructors have run crashes,
    // with every memtable. For the same reason no handler that came before the database may delete it.
    Require(rdb::DB::Open(LargeOptions(Rep::kStrongbin), Path("db"), &db));
    return db;
  }
  static void Write(rdb::DB* db, uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; ++i) Require(db->Put({}, NumberKey(Scramble(i), 20), "value"));
  }
};

rdb::DB* g_db = nullptr;
void DeleteDatabase() {
  delete g_db;
  g_db = nullptr;
}

TEST_F(ExitTest, DatabaseIsDeletedByAnExitHandlerThatCameLast) {
  EXPECT_EXIT(
      {
        g_db = Open();
        Write(g_db, 0, 5'000);
        std::atexit(DeleteDatabase);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(ExitTest, DatabaseIsNeverDeleted) {
  EXPECT_EXIT(
      {
        g_db = Open();
        Write(g_db, 0, 5'000);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(ExitTest, ProcessExitsWhileThreadsWriteAndRead) {
  for (uint64_t round = 0; round < TestScale(5, 100); ++round) {
    EXPECT_EXIT(
        {
          g_db = Open();
          std::atomic<uint64_t> written{0};
          const auto write = [&written](uint64_t thread) {
            for (uint64_t i = 0;; ++i, written.fetch_add(1)) Write(g_db, (thread << 32) + i, 1);
          };
          const auto read = [] {
            for (;;) {
              const std::unique_ptr<rdb::Iterator> iterator(g_db->NewIterator({}));
              for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
              }
            }
          };
          std::thread(write, 0).detach();
          std::thread(write, 1).detach();
          std::thread(read).detach();
          while (written.load() < 1'000 * (round + 1)) std::this_thread::yield();
          std::exit(0);
        },
        testing::ExitedWithCode(0), "");
  }
}

TEST_F(ExitTest, DatabaseIsDeletedWithTheLastBreathOfAThread) {
  EXPECT_EXIT(
      {
        std::thread([this] {
          thread_local std::unique_ptr<rdb::DB> db;
          db.reset(Open());
          Write(db.get(), 0, 5'000);
          const std::unique_ptr<rdb::Iterator> iterator(db->NewIterator({}));
          iterator->SeekToFirst();
        }).join();
        std::exit(Stats().rocksdb.memtables == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace strongbin
