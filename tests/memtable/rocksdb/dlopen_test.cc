// A program that was not built for the library, as far as its own code knows: it loads it, uses it by name and lets go
// of it.
#include <atomic>
#include <dlfcn.h>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/options_util.h>

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

rdb::ConfigOptions Strict() {
  rdb::ConfigOptions options;
  options.ignore_unsupported_options = false;
  return options;
}
rdb::Status FactoryByName(std::shared_ptr<rdb::MemTableRepFactory>* factory) {
  return rdb::MemTableRepFactory::CreateFromString(Strict(), "strongbin", factory);
}
void* LoadLibrary() { return dlopen(STRONGBIN_TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL); }

rdb::Status LoadOptions(const rdb::ConfigOptions& config, const std::string& path, rdb::Options* options) {
  rdb::DBOptions db_options;
  std::vector<rdb::ColumnFamilyDescriptor> families;
  const rdb::Status status = rdb::LoadLatestOptions(config, path, &db_options, &families);
  if (status.ok()) *options = rdb::Options(db_options, families.at(0).options);
  return status;
}

class DlopenTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "strongbin-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path() const { return folder_ + "/db"; }

  std::string folder_;
};

// In another process.
void WriteWithTheLibrary(const std::string& path) {
  rdb::Options options;
  options.create_if_missing = true;
  rdb::DB* db = nullptr;
  const bool is_written = LoadLibrary() != nullptr && FactoryByName(&options.memtable_factory).ok() &&
                          rdb::DB::Open(options, path, &db).ok() && db->Put({}, "key", "value").ok();
  delete db;
  std::exit(is_written ? 0 : 1);
}

// One test: what has been loaded cannot be unloaded, since a registration cannot be taken back.
TEST_F(DlopenTest, LibraryMayBeLoadedAndClosedAtAnyTime) {
  EXPECT_EXIT(WriteWithTheLibrary(Path()), testing::ExitedWithCode(0), "");
  // Without the library, RocksDB refuses the name, or is told not to mind and takes its skip list.
  rdb::Options options;
  EXPECT_TRUE(FactoryByName(&options.memtable_factory).IsNotSupported());
  EXPECT_FALSE(LoadOptions(Strict(), Path(), &options).ok());
  ASSERT_TRUE(LoadOptions({}, Path(), &options).ok());
  EXPECT_STREQ(options.memtable_factory->Name(), "SkipListFactory");

  void* const library = LoadLibrary();
  ASSERT_NE(library, nullptr) << dlerror();
  ASSERT_TRUE(LoadOptions(Strict(), Path(), &options).ok());
  EXPECT_STREQ(options.memtable_factory->Name(), "strongbin");
  rdb::DB* db = nullptr;
  ASSERT_TRUE(rdb::DB::Open(options, Path(), &db).ok());
  std::atomic<bool> has_written{false}, may_end{false};
  std::thread writer([&] {
    for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(db->Put({}, std::to_string(i * 7919 % 10'007), "value").ok());
    std::string value;
    EXPECT_TRUE(db->Get({}, "7919", &value).ok());
    has_written = true;
    while (!may_end) std::this_thread::yield();
  });
  while (!has_written) std::this_thread::yield();
  delete db;
  options.memtable_factory.reset();
  EXPECT_EQ(dlclose(library), 0);
  may_end = true;
  writer.join();

  // Still registered, and still working.
  ASSERT_TRUE(FactoryByName(&options.memtable_factory).ok());
  ASSERT_TRUE(rdb::DB::Open(options, Path(), &db).ok());
  for (const char* key : {"key", "7919"}) {
    std::string value;
    EXPECT_TRUE(db->Get({}, key, &value).ok());
    EXPECT_EQ(value, "value");
  }
  delete db;
}

}  // namespace
