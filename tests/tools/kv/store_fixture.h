// What the tests of the store share.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "strongbin/tools/kv/store.h"

namespace strongbin::kv {

// A folder of its own, deleted at the end, and a store in it.
class StoreTest : public ::testing::Test {
 protected:
  using Content = std::map<std::string, std::string>;

  StoreTest() {
    options_.directory = testing::TempDir() + "/kv-" + std::to_string(getpid());
    options_.log = LogMode::kUnsynced;  // the process ends here, the machine does not
    options_.table_bytes = size_t{256} << 10;
    options_.pool = &pool_;
    std::filesystem::remove_all(options_.directory);
  }
  ~StoreTest() override {
    store_.reset();
    std::filesystem::remove_all(options_.directory);
  }

  rocksdb::Status Reopen() {
    store_.reset();
    return Store::Open(options_, &store_);
  }

  void Put(const std::string& key, const std::string& value) {
    Batch batch;
    batch.Put(key, value);
    ASSERT_TRUE(store_->Write(batch).ok());
  }
  void Delete(const std::string& key) {
    Batch batch;
    batch.Delete(key);
    ASSERT_TRUE(store_->Write(batch).ok());
  }

  std::string Get(const std::string& key) const {
    std::string value;
    const rocksdb::Status status = store_->Get(key, &value);
    return status.ok() ? value : status.ToString();
  }
  Content Scan(const std::string& from = "") const {
    Content content;
    std::string before;
    const auto it = store_->NewIterator();
    for (it->Seek(from); it->Valid(); it->Next()) {
      EXPECT_TRUE(content.empty() || before < it->key());
      before = it->key();
      content.emplace(it->key(), it->value());
    }
    EXPECT_TRUE(it->status().ok()) << it->status().ToString();
    return content;
  }

  ChunkPool pool_;
  Options options_;
  std::unique_ptr<Store> store_;
};

}  // namespace strongbin::kv
