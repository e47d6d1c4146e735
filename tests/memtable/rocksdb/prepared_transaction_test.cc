// Prepared transactions of a process that was killed. A write-prepared or write-unprepared one has one sequence number
// for many entries: recovery tells its duplicates apart only because the memtable says that (key, sequence) is there
// already.
#include <csignal>
#include <string>
#include <tuple>

#include <gmock/gmock.h>

#include "strongbin/tests/memtable/rocksdb/transaction_db.h"

namespace strongbin {
namespace {

using testing::ElementsAre;

enum class Ending { kCommittedBefore, kCommittedAfter, kRolledBackAfter };

class PreparedTransactionTest : public DbTest, public testing::WithParamInterface<std::tuple<TxnPolicy, Ending>> {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  static Ending ending() { return std::get<Ending>(GetParam()); }

  rdb::Status Open(TestTxnDb* db) const {
    return db->Open(std::get<TxnPolicy>(GetParam()), SmallOptions(Rep::kStrongbin), Path("db"));
  }

  // One key four times and another twice, between others.
  static rdb::Status WriteDuplicates(rdb::Transaction* transaction) {
    rdb::Status status;
    const auto also = [&](const rdb::Status& next) {
      if (status.ok()) status = next;
    };
    also(transaction->Put("k", "1"));
    also(transaction->Put("k", "2"));
    also(transaction->Put("a", "first"));
    also(transaction->Put("kk", "first"));
    also(transaction->Delete("k"));
    also(transaction->Delete("kk"));
    also(transaction->Put("k", "3"));
    also(transaction->Merge("z", "x"));
    also(transaction->Merge("z", "y"));
    return status;
  }

  // In the process that dies.
  void PrepareAndDie() const {
    TestTxnDb db;
    rdb::Status status = Open(&db);
    if (status.ok()) status = db->Put({}, "k", "before");
    const std::unique_ptr<rdb::Transaction> transaction = db.Begin(false);
    if (status.ok()) status = transaction->SetName("prepared");
    if (status.ok()) status = WriteDuplicates(transaction.get());
    if (status.ok()) status = transaction->Prepare();
    if (status.ok() && ending() == Ending::kCommittedBefore) status = transaction->Commit();
    if (status.ok()) std::raise(SIGKILL);
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
  }

  static std::vector<std::string> Content(rdb::DB* db) {
    History history;
    for (const char* key : {"a", "k", "kk", "z"}) {
      std::string value;
      const rdb::Status status = db->Get({}, key, &value);
      history.Add(key, status, value);
    }
    ScanForward(std::unique_ptr<rdb::Iterator>(db->NewIterator({})).get(), &history);
    return history.lines();
  }
  static void ExpectNothingOfIt(rdb::DB* db) {
    EXPECT_THAT(Content(db), ElementsAre("a: NotFound: ", "k = before",
                                         "kk: NotFound: ", "z: NotFound: ", "next -> k = before", "scan: OK"));
  }
  static void ExpectAllOfIt(rdb::DB* db) {
    EXPECT_THAT(Content(db), ElementsAre("a = first", "k = 3", "kk: NotFound: ", "z = x,y", "next -> a = first",
                                         "next -> k = 3", "next -> z = x,y", "scan: OK"));
  }
};

TEST_P(PreparedTransactionTest, EndsAsItShouldAfterRecovery) {
  EXPECT_EXIT(PrepareAndDie(), testing::KilledBySignal(SIGKILL), "");
  TestTxnDb db;
  ASSERT_TRUE(Ok(Open(&db)));
  if (ending() == Ending::kCommittedBefore) {
    EXPECT_EQ(db.pessimistic()->GetTransactionByName("prepared"), nullptr);
  } else {
    ExpectNothingOfIt(db.get());
    const std::unique_ptr<rdb::Transaction> found(db.pessimistic()->GetTransactionByName("prepared"));
    ASSERT_NE(found, nullptr);
    ASSERT_TRUE(Ok(ending() == Ending::kCommittedAfter ? found->Commit() : found->Rollback()));
  }
  const auto expect_content = [&] {
    ending() == Ending::kRolledBackAfter ? ExpectNothingOfIt(db.get()) : ExpectAllOfIt(db.get());
  };
  expect_content();
  // Once more out of the log, then out of table files.
  db.Close();
  ASSERT_TRUE(Ok(Open(&db)));
  expect_content();
  ASSERT_TRUE(Ok(db->Flush({})));
  expect_content();
}

// Optimistic transactions are never prepared; write queues of other kinds bring no duplicates of other kinds.
std::vector<TxnPolicy> PoliciesThatPrepare() {
  std::vector<TxnPolicy> policies = TxnPolicies();
  std::erase_if(policies, [](const TxnPolicy& policy) {
    return policy.kind == TxnKind::kOptimistic || policy.two_write_queues != policy.unordered_write;
  });
  return policies;
}
std::string NameOf(const testing::TestParamInfo<PreparedTransactionTest::ParamType>& param) {
  constexpr const char* kEndings[] = {"_CommittedBefore", "_CommittedAfter", "_RolledBackAfter"};
  const auto& [policy, ending] = param.param;
  return policy.name + std::string(kEndings[static_cast<size_t>(ending)]);
}
INSTANTIATE_TEST_SUITE_P(Policies, PreparedTransactionTest,
                         testing::Combine(testing::ValuesIn(PoliciesThatPrepare()),
                                          testing::Values(Ending::kCommittedBefore, Ending::kCommittedAfter,
                                                          Ending::kRolledBackAfter)),
                         NameOf);

}  // namespace
}  // namespace strongbin
