// Mixed load on a database for as long as one likes, closed and opened again all the time. At the end of each cycle no
// memtable and no chunk is left, in the end no descriptor, no thread and no memory.
//
// STRONGBIN_LONG_RUN_CYCLES=N makes it longer, see tools/long-run.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/on_threads.h"
#include "strongbin/tests/memtable/proved_value.h"
#include "strongbin/tests/memtable/rocksdb/test_db.h"
#include "strongbin/tests/process_numbers.h"

namespace strongbin {
namespace {

uint64_t CycleCount() {
  if (const char* wanted = std::getenv("STRONGBIN_LONG_RUN_CYCLES")) return std::strtoull(wanted, nullptr, 10);
  return TestScale(8, 400);
}

class DbLongRunTest : public DbTest {
 protected:
  static constexpr uint64_t kThreads = 3;

  void Cycle(uint64_t number) {
    rdb::Options options = SmallOptions(Rep::kStrongbin);
    options.create_missing_column_families = true;
    options.write_buffer_size = size_t{64} << (10 + number % 3);
    options.enable_pipelined_write = number % 2 == 0;
    options.max_write_buffer_number = 2 + static_cast<int>(number % 3);
    TestDb db;
    ASSERT_TRUE(Ok(db.Open(options, Path("db"), {rdb::kDefaultColumnFamilyName, "other"})));
    OnThreads(kThreads, [&](uint64_t thread) {
      Random random(number * kThreads + thread);
      for (uint64_t i = 0; i < Scaled(3'000, 800); ++i) Step(&db, thread, number, i, &random);
    });
    db.Close();
    EXPECT_EQ(wrong_.load(), 0u);
    EXPECT_EQ(Stats().rocksdb.memtables, 0u);
    EXPECT_EQ(LentBytes(), 0u);
  }
  ProcessNumbers AtRest() {
    RelieveMemoryPressure();
    return ProcessNumbers::Now();
  }

 private:
  void Require(bool is_right) {
    if (!is_right) wrong_.fetch_add(1);
  }
  // The value says for itself which key and cycle it is of.
  void Prove(const rdb::Slice& key, const rdb::Slice& value, uint64_t number) {
    const std::optional<uint64_t> cycle = ProvedGeneration({key.data(), key.size()}, 0, {value.data(), value.size()});
    Require(cycle && *cycle <= number);
  }

  void Step(TestDb* db, uint64_t thread, uint64_t number, uint64_t i, Random* random) {
    rdb::ColumnFamilyHandle* family = db->family(Below(random, 2));
    const std::string key = NumberKey(Below(random, 2'000), OneIn(random, 2) ? 8 : 24) + std::to_string(thread);
    const uint64_t choice = Below(random, 100);
    std::string value;
    if (choice < 60) {
      Require((*db)->Put({}, family, key, ProvedValue(key, 0, number, Below(random, 300))).ok());
      Require((*db)->Get({}, family, key, &value).ok());
      Prove(key, value, number);
    } else if (choice < 70) {
      Require((*db)->Delete({}, family, key).ok());
      Require((*db)->Get({}, family, key, &value).IsNotFound());
    } else if (choice < 97) {
      const rdb::Status status = (*db)->Get({}, family, key, &value);
      Require(status.ok() || status.IsNotFound());
      if (status.ok()) Prove(key, value, number);
    } else if (choice < 99) {
      const std::unique_ptr<rdb::Iterator> iterator((*db)->NewIterator({}, family));
      iterator->Seek(key);
      for (int steps = 0; steps < 100 && iterator->Valid(); ++steps, iterator->Next()) {
        Prove(iterator->key(), iterator->value(), number);
      }
      Require(iterator->status().ok());
    } else if (i % 3 == 0) {
      Require((*db)->Flush({}, family).ok());
    } else {
      RelieveMemoryPressure();
    }
  }

  std::atomic<uint64_t> wrong_{0};
};

TEST_F(DbLongRunTest, NothingIsLeftBehind) {
  const uint64_t cycles = CycleCount();
  const uint64_t warm_up = std::max<uint64_t>(cycles / 4, 4);
  ProcessNumbers before;
  for (uint64_t number = 1; number <= cycles + warm_up && !HasFailure(); ++number) {
    SCOPED_TRACE("cycle " + std::to_string(number));
    Cycle(number);
    if (number == warm_up) before = AtRest();
  }
  const ProcessNumbers after = AtRest();
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.threads, before.threads);
  // RocksDB's caches and the allocator's arenas go on growing for a while.
  if (!kSanitized) {
    EXPECT_LE(after.resident_bytes, before.resident_bytes + (size_t{12} << 20));
  }
  RecordProperty("resident_kib_before", static_cast<int>(before.resident_bytes >> 10));
  RecordProperty("resident_kib_after", static_cast<int>(after.resident_bytes >> 10));
}

}  // namespace
}  // namespace strongbin
