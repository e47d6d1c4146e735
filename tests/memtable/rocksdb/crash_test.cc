// Rounds of kill -9 through RocksDB with our memtable: several column families, with and without transactions.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/write_batch.h>

#include "strongbin/tests/crash_rounds.h"
#include "strongbin/tests/memtable/rocksdb/test_db.h"

namespace strongbin {
namespace {

using crash::Change;

const std::vector<std::string> kFamilyNames = {rdb::kDefaultColumnFamilyName, "one", "two"};
static_assert(crash::kFamilies == 3);

class Round {
 public:
  Round(const crash::Load& load, uint64_t number, std::string path)
      : load_(load), number_(number), path_(std::move(path)) {}

  [[noreturn]] void WriteForEver(crash::Ledger* ledger) {
    Open();
    crash::WriteForEver(load_, ledger, [&](const std::vector<Change>& changes) { Write(changes); });
  }

  void Verify(crash::Ledger* ledger) {
    Open();
    std::array<crash::Content, crash::kThreads> found;
    for (size_t family = 0; family < crash::kFamilies; ++family) {
      const std::unique_ptr<rdb::Iterator> iterator(db_->NewIterator({}, db_.family(family)));
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
        const std::string key = iterator->key().ToString();
        found[crash::ThreadOfKey(key)][family][key] = iterator->value().ToString();
        std::string value;
        REQUIRE_IN_CHILD(db_->Get({}, db_.family(family), key, &value).ok() && value == iterator->value());
      }
      REQUIRE_IN_CHILD(iterator->status().ok());
    }
    crash::Verify(load_, found, ledger);
    db_.Close();
  }

 private:
  void Open() {
    rdb::Options options = SmallOptions(Rep::kStrongbin);
    options.write_buffer_size = crash::kMemtableBytes[number_ % crash::kMemtableBytes.size()];
    options.create_missing_column_families = true;
    options.avoid_flush_during_recovery = number_ % 2 == 0;
    options.enable_pipelined_write = number_ % 3 == 0;
    options.allow_concurrent_memtable_write = number_ % 4 != 0;
    const rdb::Status status =
        db_.OpenBy(options, kFamilyNames, [&](const auto& families, auto* handles, rdb::DB** db) {
          if (number_ % 2 == 0) return rdb::DB::Open(options, path_, families, handles, db);
          rdb::Status opened = rdb::TransactionDB::Open(options, {}, path_, families, handles, &transactions_);
          *db = transactions_;
          return opened;
        });
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
    REQUIRE_IN_CHILD(status.ok());
  }

  void Write(const std::vector<Change>& changes) {
    rdb::WriteBatch batch;
    std::unique_ptr<rdb::Transaction> transaction;
    if (transactions_ != nullptr) transaction.reset(transactions_->BeginTransaction({}));
    for (const Change& change : changes) {
      const rdb::Status status = transaction != nullptr ? Add(change, transaction.get()) : Add(change, &batch);
      REQUIRE_IN_CHILD(status.ok());
    }
    REQUIRE_IN_CHILD((transaction != nullptr ? transaction->Commit() : db_->Write({}, &batch)).ok());
  }
  template <class Target>
  rdb::Status Add(const Change& change, Target* target) const {
    rdb::ColumnFamilyHandle* family = db_.family(change.family);
    if (change.kind == Change::Kind::kPut) return target->Put(family, change.key, change.value);
    if (change.kind == Change::Kind::kDelete) return target->Delete(family, change.key);
    return target->Merge(family, change.key, change.value);
  }

  const crash::Load load_;
  const uint64_t number_;
  const std::string path_;
  TestDb db_;
  rdb::TransactionDB* transactions_ = nullptr;  // db_, where that is one
};

class CrashTest : public DbTest {};

TEST_F(CrashTest, AcknowledgedWritesAreThereAndNothingElse) {
  crash::RunRounds(
      TestScale(Scaled(15, 4), 200), /*merges=*/true,
      [&](const crash::Load& load, uint64_t number, crash::Ledger* ledger) {
        Round(load, number, Path("db")).WriteForEver(ledger);
      },
      // Opened as the next round will open it.
      [&](const crash::Load& load, uint64_t number, crash::Ledger* ledger) {
        Round(load, number + 1, Path("db")).Verify(ledger);
      });
}

}  // namespace
}  // namespace strongbin
