// Transactions that meet on few keys: locks, snapshots, conflicts, save points and rollbacks end as with the skip list.
#include <array>
#include <string>

#include "strongbin/tests/memtable/rocksdb/transaction_db.h"

namespace strongbin {
namespace {

std::string SmallKey(Random* random) { return "key " + std::to_string(Below(random, 12)); }

// One of several transactions that are open at the same time.
struct Slot {
  std::unique_ptr<rdb::Transaction> transaction;
  bool is_prepared = false;
  size_t save_points = 0;
};

class TransactionTest : public DbTest, public testing::WithParamInterface<TxnPolicy> {
 protected:
  static bool IsOptimistic() { return GetParam().kind == TxnKind::kOptimistic; }

  static void ReadWithin(rdb::Transaction* transaction, Random* random, History* history) {
    rdb::ReadOptions options;
    options.snapshot = transaction->GetSnapshot();
    const std::string key = SmallKey(random);
    std::string value;
    const bool for_update = OneIn(random, 3) && transaction->GetState() == rdb::Transaction::STARTED;
    const rdb::Status status =
        for_update ? transaction->GetForUpdate(options, key, &value) : transaction->Get(options, key, &value);
    history->Add((for_update ? "get for update " : "get ") + key, status, value);
    if (OneIn(random, 10)) {
      ScanBothWays(std::unique_ptr<rdb::Iterator>(transaction->GetIterator(options)).get(), history);
    }
  }

  static void WriteWithin(Slot* slot, Random* random, History* history) {
    rdb::Transaction* const transaction = slot->transaction.get();
    const std::string key = SmallKey(random);
    const std::string value = std::to_string((*random)());
    switch (Below(random, 12)) {
      case 0:
      case 1:
        history->Add("delete " + key, transaction->Delete(key));
        break;
      case 2:
      case 3:
        history->Add("merge " + key, transaction->Merge(key, value));
        break;
      case 4:
        transaction->SetSavePoint();
        ++slot->save_points;
        break;
      case 5:
        if (slot->save_points == 0) break;
        --slot->save_points;
        history->Add("roll back to save point", transaction->RollbackToSavePoint());
        break;
      default:
        history->Add("put " + key, transaction->Put(key, value));
    }
  }

  static void End(Slot* slot, Random* random, History* history) {
    rdb::Transaction* const transaction = slot->transaction.get();
    if (!IsOptimistic() && !slot->is_prepared && OneIn(random, 2)) {
      slot->is_prepared = true;
      history->Add("prepare", transaction->Prepare());
      return;
    }
    const bool commits = !OneIn(random, 3);
    history->Add(commits ? "commit" : "roll back", commits ? transaction->Commit() : transaction->Rollback());
    *slot = {};
  }

  static void Step(const TestTxnDb& db, std::array<Slot, 4>* slots, size_t step, Random* random, History* history) {
    Slot& slot = (*slots)[Below(random, slots->size())];
    if (slot.transaction == nullptr) {
      slot.transaction = db.Begin(OneIn(random, 2));
      if (!IsOptimistic()) history->Add("begin", slot.transaction->SetName(std::to_string(step)));
      return;
    }
    const uint64_t kind = Below(random, 20);
    if (kind < 3) {
      End(&slot, random, history);
    } else if (kind < 9 || slot.is_prepared) {
      ReadWithin(slot.transaction.get(), random, history);
    } else {
      WriteWithin(&slot, random, history);
    }
  }

  static void Work(Rep rep, const std::string& path, History* history) {
    // Large enough that no history of flushed memtables is dropped: then conflicts could no longer be told.
    rdb::Options options = SmallOptions(rep);
    options.write_buffer_size = 4 << 20;
    TestTxnDb db;
    Random random(11);
    for (size_t generation = 0; generation < TestScale(2, 20); ++generation) {
      ASSERT_TRUE(Ok(db.Open(GetParam(), options, path)));
      std::array<Slot, 4> slots;
      for (size_t step = 0; step < 4'000; ++step) {
        Step(db, &slots, step, &random, history);
        if (step % 20 == 0) {
          const std::string key = SmallKey(&random);
          history->Add("outside put " + key, db->Put({}, key, std::to_string(step)));
        }
        if (step % 100 == 0) ScanBothWays(db.get(), {}, db->DefaultColumnFamily(), history);
        if (step % 700 == 699) history->Add("flush", db->Flush({}));
      }
      for (Slot& slot : slots) {
        if (slot.transaction != nullptr) history->Add("last roll back", slot.transaction->Rollback());
        slot = {};
      }
      ScanBothWays(db.get(), {}, db->DefaultColumnFamily(), history);
      db.Close();
    }
  }
};

TEST_P(TransactionTest, SameResultsAsTheSkipList) {
  EXPECT_TRUE(SameWithBoth([](Rep rep, const std::string& path, History* history) {
    Work(rep, path, history);
    EXPECT_GT(history->lines().size(), 5'000u);
  }));
}

INSTANTIATE_TEST_SUITE_P(Policies, TransactionTest, testing::ValuesIn(TxnPolicies()), NameOfPolicy);

}  // namespace
}  // namespace strongbin
