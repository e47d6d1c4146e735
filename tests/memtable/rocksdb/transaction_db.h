// Transaction databases of every write policy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <rocksdb/utilities/optimistic_transaction_db.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>

#include "strongbin/tests/memtable/rocksdb/test_db.h"

namespace strongbin {

enum class TxnKind { kOptimistic, kWriteCommitted, kWritePrepared, kWriteUnprepared };

struct TxnPolicy {
  const char* name;
  TxnKind kind;
  bool two_write_queues = false;
  bool unordered_write = false;
};

inline const std::vector<TxnPolicy>& TxnPolicies() {
  static const auto* const policies = new std::vector<TxnPolicy>{
      {"Optimistic", TxnKind::kOptimistic},
      {"WriteCommitted", TxnKind::kWriteCommitted},
      {"WriteCommittedTwoQueues", TxnKind::kWriteCommitted, true},
      {"WritePrepared", TxnKind::kWritePrepared},
      {"WritePreparedTwoQueues", TxnKind::kWritePrepared, true},
      {"WritePreparedUnordered", TxnKind::kWritePrepared, true, true},
      {"WriteUnprepared", TxnKind::kWriteUnprepared},
      {"WriteUnpreparedTwoQueues", TxnKind::kWriteUnprepared, true},
  };
  return *policies;
}
inline std::string NameOfPolicy(const testing::TestParamInfo<TxnPolicy>& policy) { return policy.param.name; }

// A lock that is taken is refused at once: one thread runs all transactions of a test.
class TestTxnDb {
 public:
  TestTxnDb() = default;
  TestTxnDb(const TestTxnDb&) = delete;
  TestTxnDb& operator=(const TestTxnDb&) = delete;

  rdb::Status Open(const TxnPolicy& policy, rdb::Options options, const std::string& path) {
    options.two_write_queues = policy.two_write_queues;
    options.unordered_write = policy.unordered_write;
    return db_.OpenBy(options, {rdb::kDefaultColumnFamilyName}, [&](const auto& families, auto* handles, rdb::DB** db) {
      is_optimistic_ = policy.kind == TxnKind::kOptimistic;
      return is_optimistic_ ? OpenAs<rdb::OptimisticTransactionDB>(db, options, path, families, handles)
                            : OpenAs<rdb::TransactionDB>(db, options, Pessimistic(policy), path, families, handles);
    });
  }
  ~TestTxnDb() { Close(); }
  void Close() {
    // A flush of a write-prepared database holds a snapshot for a while after Flush() has returned, and then
    // DB::Close() refuses.
    if (db_.get() != nullptr) rdb::CancelAllBackgroundWork(db_.get(), true);
    db_.Close();
  }

  rdb::DB* get() const { return db_.get(); }
  rdb::DB* operator->() const { return db_.get(); }
  rdb::TransactionDB* pessimistic() const { return static_cast<rdb::TransactionDB*>(db_.get()); }

  // With the snapshot of its beginning, against which later writes of others are conflicts.
  std::unique_ptr<rdb::Transaction> Begin(bool with_snapshot) const {
    rdb::Transaction* transaction = nullptr;
    if (is_optimistic_) {
      rdb::OptimisticTransactionOptions options;
      options.set_snapshot = with_snapshot;
      transaction = static_cast<rdb::OptimisticTransactionDB*>(db_.get())->BeginTransaction({}, options);
    } else {
      rdb::TransactionOptions options;
      options.set_snapshot = with_snapshot;
      transaction = pessimistic()->BeginTransaction({}, options);
    }
    return std::unique_ptr<rdb::Transaction>(transaction);
  }

 private:
  static rdb::TransactionDBOptions Pessimistic(const TxnPolicy& policy) {
    rdb::TransactionDBOptions options;
    options.write_policy = policy.kind == TxnKind::kWritePrepared     ? rdb::WRITE_PREPARED
                           : policy.kind == TxnKind::kWriteUnprepared ? rdb::WRITE_UNPREPARED
                                                                      : rdb::WRITE_COMMITTED;
    // Every write of an unprepared transaction goes to the memtable at once.
    if (policy.kind == TxnKind::kWriteUnprepared) options.default_write_batch_flush_threshold = 1;
    options.transaction_lock_timeout = 0;
    options.default_lock_timeout = 0;
    options.rollback_merge_operands = true;
    return options;
  }
  template <typename Db, typename... Arguments>
  static rdb::Status OpenAs(rdb::DB** opened, const Arguments&... arguments) {
    Db* db = nullptr;
    const rdb::Status status = Db::Open(arguments..., &db);
    *opened = db;
    return status;
  }

  TestDb db_;
  bool is_optimistic_ = false;
};

}  // namespace strongbin
