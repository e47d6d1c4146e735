// A process that writes through RocksDB with our memtable is killed at any moment, again and again. What it was told is
// written is there afterwards, and nothing else: of each thread's operations all that were acknowledged, and maybe the
// one that was under way, whole or not at all.
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/write_batch.h>

#include "strongbin/tests/memtable/on_threads.h"
#include "strongbin/tests/memtable/rocksdb/test_db.h"
#include "strongbin/tests/stats/page_test_util.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

constexpr size_t kThreads = 3;
constexpr size_t kFamilies = 3;
const std::vector<std::string> kFamilyNames = {rdb::kDefaultColumnFamilyName, "one", "two"};
constexpr std::array kMemtableBytes = {size_t{64} << 10, size_t{1} << 20, size_t{256} << 10, size_t{64} << 20,
                                       size_t{8} << 20};

// How far the threads of all rounds have come; in memory that the rounds share and that outlives them.
struct Ledger {
  struct alignas(64) Line {
    std::atomic<uint64_t> begun{0};
    std::atomic<uint64_t> acknowledged{0};
  };
  std::array<Line, kThreads> lines;

  uint64_t acknowledged() const {
    uint64_t sum = 0;
    for (const Line& line : lines) sum += line.acknowledged.load();
    return sum;
  }
};

// What a thread's operation does, told by its number alone.
struct Change {
  enum class Kind : uint8_t { kPut, kDelete, kMerge };
  Kind kind;
  size_t family;
  std::string key;
  std::string value;
};
std::vector<Change> ChangesOf(uint64_t seed, size_t thread, uint64_t number) {
  Random random(Scramble(seed * kThreads + thread) ^ number);
  std::vector<Change> changes(1 + (OneIn(&random, 4) ? Below(&random, 20) : 0));
  for (Change& change : changes) {
    const uint64_t kind = Below(&random, 10);
    change.kind = kind < 6 ? Change::Kind::kPut : kind < 8 ? Change::Kind::kDelete : Change::Kind::kMerge;
    change.family = Below(&random, kFamilies);
    change.key = std::to_string(thread) + "/" + NumberKey(Below(&random, 400), 8 + Below(&random, 2) * 20);
    const size_t value_bytes = change.kind == Change::Kind::kMerge ? 3
                               : OneIn(&random, 100)               ? 20'000
                                                                   : Below(&random, 300);
    change.value = std::to_string(number) + ":" + std::string(value_bytes, static_cast<char>('a' + number % 26));
  }
  return changes;
}

using Content = std::array<std::map<std::string, std::string>, kFamilies>;
void Apply(const std::vector<Change>& changes, Content* content) {
  for (const Change& change : changes) {
    auto& family = (*content)[change.family];
    if (change.kind == Change::Kind::kDelete) {
      family.erase(change.key);
    } else if (change.kind == Change::Kind::kPut) {
      family[change.key] = change.value;
    } else if (const auto [it, is_new] = family.emplace(change.key, change.value); !is_new) {
      it->second += "," + change.value;
    }
  }
}

class Round {
 public:
  Round(uint64_t seed, uint64_t number, std::string path) : seed_(seed), number_(number), path_(std::move(path)) {}

  // Ends only by being killed.
  [[noreturn]] void WriteForEver(Ledger* ledger) {
    Open();
    OnThreads(kThreads, [&](size_t thread) {
      Ledger::Line& line = ledger->lines[thread];
      for (uint64_t i = line.acknowledged.load();; ++i) {
        line.begun.store(i + 1);
        Write(ChangesOf(seed_, thread, i));
        line.acknowledged.store(i + 1);
      }
    });
    std::abort();
  }

  // And puts the ledger right: the operation that was under way has happened or not.
  void Verify(Ledger* ledger) {
    Open();
    std::array<Content, kThreads> found;
    for (size_t family = 0; family < kFamilies; ++family) {
      const std::unique_ptr<rdb::Iterator> iterator(db_->NewIterator({}, db_.family(family)));
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
        const std::string key = iterator->key().ToString();
        const size_t thread = static_cast<size_t>(key[0] - '0');
        REQUIRE_IN_CHILD(thread < kThreads);
        found[thread][family][key] = iterator->value().ToString();
        std::string value;
        REQUIRE_IN_CHILD(db_->Get({}, db_.family(family), key, &value).ok() && value == iterator->value());
      }
      REQUIRE_IN_CHILD(iterator->status().ok());
    }
    for (size_t thread = 0; thread < kThreads; ++thread) {
      Ledger::Line& line = ledger->lines[thread];
      Content expected;
      uint64_t count = 0;
      for (; count < line.acknowledged.load(); ++count) Apply(ChangesOf(seed_, thread, count), &expected);
      if (found[thread] == expected) continue;
      REQUIRE_IN_CHILD(line.begun.load() == count + 1);  // otherwise what was acknowledged is not there
      Apply(ChangesOf(seed_, thread, count), &expected);
      REQUIRE_IN_CHILD(found[thread] == expected);
      line.acknowledged.store(count + 1);
    }
    db_.Close();
  }

 private:
  void Open() {
    rdb::Options options = SmallOptions(Rep::kStrongbin);
    options.write_buffer_size = kMemtableBytes[number_ % kMemtableBytes.size()];
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

  const uint64_t seed_;
  const uint64_t number_;
  const std::string path_;
  TestDb db_;
  rdb::TransactionDB* transactions_ = nullptr;  // db_, where that is one
};

class CrashTest : public DbTest {};

TEST_F(CrashTest, AcknowledgedWritesAreThereAndNothingElse) {
  void* shared = mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* ledger = new (shared) Ledger;
  const uint64_t seed = std::random_device{}();
  Random random(seed);
  const uint64_t rounds = TestScale(15, 200);
  for (uint64_t number = 0; number < rounds && !HasFailure(); ++number) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", round " << number);
    // After so many acknowledged operations, and then at once.
    const uint64_t wanted = ledger->acknowledged() + Below(&random, OneIn(&random, 4) ? 20 : 1500);
    const pid_t writer = StartChild([&] { Round(seed, number, Path("db")).WriteForEver(ledger); });
    while (ledger->acknowledged() <= wanted && waitpid(writer, nullptr, WNOHANG) == 0) usleep(50);
    kill(writer, SIGKILL);
    ASSERT_EQ(WaitFor(writer), -SIGKILL) << "the writer ended by itself";
    ASSERT_EQ(InChild([&] { Round(seed, number + 1, Path("db")).Verify(ledger); }), 0);
  }
  EXPECT_GT(ledger->acknowledged(), rounds * 100);
  munmap(shared, sizeof(Ledger));
}

}  // namespace
}  // namespace strongbin
