// Databases that differ in nothing but the memtable, and histories of what a workload saw in each.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>

#include "strongbin/memtable/rocksdb/rep_factory.h"
#include "strongbin/memtable/rocksdb/rep_stats.h"
#include "strongbin/stats/snapshot.h"
#include "strongbin/tests/memtable/rocksdb/no_sync_env.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {

namespace rdb = ROCKSDB_NAMESPACE;

[[nodiscard]] inline testing::AssertionResult Ok(const rdb::Status& status) {
  return status.ok() ? testing::AssertionSuccess() : testing::AssertionFailure() << status.ToString();
}

enum class Rep { kSkipList, kStrongbin };
inline constexpr std::array kBothReps = {Rep::kSkipList, Rep::kStrongbin};

inline std::shared_ptr<rdb::MemTableRepFactory> NewFactory(Rep rep) {
  if (rep == Rep::kStrongbin) return NewAppendOnlyRepFactory();
  return std::make_shared<rdb::SkipListFactory>();
}

// Small memtables, no compression, no waiting for the disk; everything else is RocksDB's default.
inline rdb::Options SmallOptions(Rep rep) {
  rdb::Options options;
  options.memtable_factory = NewFactory(rep);
  options.create_if_missing = true;
  options.env = NoSyncEnv();
  options.write_buffer_size = 64 << 10;  // the smallest that RocksDB takes
  options.compression = rdb::kNoCompression;
  EXPECT_TRUE(Ok(rdb::MergeOperator::CreateFromString({}, "stringappend", &options.merge_operator)));
  return options;
}

// The same with memtables that hold all a test writes: nothing is flushed unless the test says so.
inline rdb::Options LargeOptions(Rep rep) {
  rdb::Options options = SmallOptions(rep);
  options.write_buffer_size = 64 << 20;
  return options;
}

// A folder that goes away with the object. The child of a death test, which runs its test from the beginning, finds the
// folder of its parent and leaves it alone. At most one at a time.
class TempDir {
 public:
  TempDir() {
    if (const char* of_parent = std::getenv(kVariable)) {
      path_ = of_parent;
      return;
    }
    std::string pattern = testing::TempDir() + "strongbin-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    is_owner_ = true;
    setenv(kVariable, path_.c_str(), 1);
  }
  ~TempDir() {
    if (!is_owner_) return;
    unsetenv(kVariable);
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string Path(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  static constexpr const char* kVariable = "STRONGBIN_TEST_DIR";
  std::string path_;
  bool is_owner_ = false;
};

// A key or value for a line of history: short, and with every byte visible.
inline std::string Shown(const rdb::Slice& bytes) {
  constexpr size_t kShownBytes = 40;
  if (bytes.size() > kShownBytes) {
    const size_t hash = std::hash<std::string_view>()({bytes.data(), bytes.size()});
    return Shown({bytes.data(), 16}) + "...(" + std::to_string(bytes.size()) + " bytes, hash " + std::to_string(hash) +
           ")";
  }
  const bool is_text = std::all_of(bytes.data(), bytes.data() + bytes.size(),
                                   [](char c) { return std::isgraph(static_cast<unsigned char>(c)) || c == ' '; });
  return is_text ? bytes.ToString() : "0x" + bytes.ToString(true);
}

// What a workload saw, one line a step.
class History {
 public:
  void Add(std::string line) { lines_.push_back(std::move(line)); }
  void Add(const std::string& what, const rdb::Status& status) { Add(what + ": " + status.ToString()); }
  void Add(const std::string& what, const rdb::Status& status, const rdb::Slice& value) {
    status.ok() ? Add(what + " = " + Shown(value)) : Add(what, status);
  }
  // Where an iterator stands after a step.
  void Add(const std::string& what, const rdb::Iterator& iterator) {
    iterator.Valid() ? Add(what + " -> " + Shown(iterator.key()) + " = " + Shown(iterator.value()))
                     : Add(what + " -> end", iterator.status());
  }

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

[[nodiscard]] inline testing::AssertionResult SameHistory(const History& expected, const History& actual) {
  const auto& a = expected.lines();
  const auto& b = actual.lines();
  const auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at_a == a.end() && at_b == b.end()) return testing::AssertionSuccess();
  auto failure = testing::AssertionFailure() << "step " << (at_a - a.begin()) << " differs after";
  for (auto line = at_a - std::min<ptrdiff_t>(8, at_a - a.begin()); line != at_a; ++line) failure << "\n  " << *line;
  return failure << "\nskip list: " << (at_a == a.end() ? "(ended)" : *at_a)
                 << "\nstrongbin: " << (at_b == b.end() ? "(ended)" : *at_b);
}

inline void ScanForward(rdb::Iterator* iterator, History* history) {
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) history->Add("next", *iterator);
  history->Add("scan", iterator->status());
}
inline void ScanBothWays(rdb::Iterator* iterator, History* history) {
  ScanForward(iterator, history);
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) history->Add("prev", *iterator);
  history->Add("scan back", iterator->status());
}
inline void ScanBothWays(rdb::DB* db, const rdb::ReadOptions& options, rdb::ColumnFamilyHandle* family,
                         History* history) {
  ScanBothWays(std::unique_ptr<rdb::Iterator>(db->NewIterator(options, family)).get(), history);
}

// An open database with its column families, the default one first.
class TestDb {
 public:
  TestDb() = default;
  ~TestDb() { Close(); }
  TestDb(const TestDb&) = delete;
  TestDb& operator=(const TestDb&) = delete;

  rdb::Status Open(const rdb::Options& options, const std::string& path,
                   const std::vector<std::string>& families = {rdb::kDefaultColumnFamilyName}) {
    return OpenBy(options, families,
                  [&](const auto&... arguments) { return rdb::DB::Open(options, path, arguments...); });
  }
  // Opens by `open(descriptors, &handles, &db)`.
  template <typename OpenCall>
  rdb::Status OpenBy(const rdb::Options& options, const std::vector<std::string>& families, OpenCall&& open) {
    Close();
    std::vector<rdb::ColumnFamilyDescriptor> descriptors;
    for (const std::string& name : families) descriptors.emplace_back(name, options);
    return open(descriptors, &handles_, &db_);
  }

  // The last of the families.
  void DestroyLastFamily() {
    EXPECT_TRUE(Ok(db_->DestroyColumnFamilyHandle(handles_.back())));
    handles_.pop_back();
  }
  // Ends without a flush: what is not yet in a table file stays in the log.
  void Close() {
    if (db_ == nullptr) return;
    for (rdb::ColumnFamilyHandle* handle : handles_) EXPECT_TRUE(Ok(db_->DestroyColumnFamilyHandle(handle)));
    handles_.clear();
    EXPECT_TRUE(Ok(db_->Close()));
    delete db_;
    db_ = nullptr;
  }

  rdb::DB* get() const { return db_; }
  rdb::DB* operator->() const { return db_; }
  rdb::ColumnFamilyHandle* family(size_t index) const { return handles_.at(index); }

 private:
  rdb::DB* db_ = nullptr;
  std::vector<rdb::ColumnFamilyHandle*> handles_;
};

// What all memtables of the process hold in the pool of the process.
inline uint64_t LentBytes() { return SumOfLabels(Stats().pool.lent_bytes); }

// Each test has a folder to itself, and leaves nothing behind when its databases are closed.
class DbTest : public ::testing::Test {
 protected:
  ~DbTest() override {
    EXPECT_EQ(Stats().rocksdb.memtables, 0u) << "a memtable has outlived its database";
    EXPECT_EQ(LentBytes(), 0u);
  }

  std::string Path(std::string_view name) const { return dir_.Path(name); }

  // Runs the workload with the skip list and with ours, both times in an empty folder of the same name: even messages
  // that hold a path must agree.
  template <typename Workload>
  [[nodiscard]] testing::AssertionResult SameWithBoth(Workload&& workload) {
    std::array<History, kBothReps.size()> histories;
    for (const Rep rep : kBothReps) {
      const std::string path = Path("same");
      std::filesystem::remove_all(path);
      workload(rep, path, &histories[static_cast<size_t>(rep)]);
    }
    return SameHistory(histories[0], histories[1]);
  }

 private:
  TempDir dir_;
};

}  // namespace strongbin
