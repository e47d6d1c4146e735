// Bounds on RocksDB with our memtable while memory is short: the pressure hook costs little and loses nothing, and a
// full pool makes nobody wait for a flush.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/write_batch.h>

#include "strongbin/memtable/rocksdb/rep_factory.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/measure.h"
#include "strongbin/tools/dbbench/rocksdb_options.h"
#include "strongbin/tools/dbbench/selfcheck.h"
#include "strongbin/tools/dbbench/selfcheck_tools.h"

namespace strongbin::dbbench {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

rocksdb::Options Options(const std::string& factory) {
  rocksdb::Options options = QuietRocksDbOptions();
  options.create_missing_column_families = true;
  static_cast<void>(rocksdb::MemTableRepFactory::CreateFromString({}, factory, &options.memtable_factory));
  return options;
}

// A number that no other has, in an order that is not that of the numbers.
std::string KeyOf(uint64_t number) {
  uint64_t words[2] = {number * 0x9E3779B97F4A7C15, number};
  return {reinterpret_cast<const char*>(words), sizeof(words)};
}

struct DurableRun {
  uint64_t written = 0;
  double seconds = 0;
  bool complete = false;  // and all of it is there after the database has been opened again
};

// Synced batches for some seconds.
DurableRun WriteDurably(const std::string& path, int seconds, bool call_hook) {
  constexpr uint64_t kBatchEntries = 1000;
  const std::string value(kSelfcheckValueBytes, 'v');
  DurableRun run;
  rocksdb::DB* db = nullptr;
  if (!rocksdb::DB::Open(Options("strongbin"), path, &db).ok()) return run;
  std::atomic<bool> stop = false;
  std::thread caller([&] {
    while (call_hook && !stop) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      RelieveMemoryPressure();
    }
  });
  rocksdb::WriteOptions durable;
  durable.sync = true;
  bool ok = true;
  const uint64_t start_ns = NowNs();
  while (ok && NowNs() - start_ns < static_cast<uint64_t>(seconds) * kNsPerSecond) {
    rocksdb::WriteBatch batch;
    for (uint64_t i = 0; i < kBatchEntries; ++i) ok &= batch.Put(KeyOf(run.written + i), value).ok();
    ok &= db->Write(durable, &batch).ok();
    run.written += kBatchEntries;
  }
  run.seconds = static_cast<double>(NowNs() - start_ns) / kNsPerSecond;
  stop = true;
  caller.join();
  delete db;

  if (!ok || !rocksdb::DB::Open(Options("strongbin"), path, &db).ok()) return run;
  std::vector<bool> found(run.written);
  uint64_t found_count = 0;
  std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    uint64_t number = 0;
    std::copy_n(it->key().data() + sizeof(number), sizeof(number), reinterpret_cast<char*>(&number));
    if (number >= run.written || found[number] || it->value() != value) break;
    found[number] = true;
    ++found_count;
  }
  run.complete = it->status().ok() && found_count == run.written;
  it.reset();
  delete db;
  return run;
}

std::vector<CheckRow> HookBesideDurableWrites(const CheckContext& context) {
  constexpr double kBound = 0.9;
  constexpr int kSeconds = 5;
  const std::string path = context.directory + "/selfcheck-durable";
  std::array<double, 2> rates{};  // sums over the runs without and with the hook
  bool complete = true;
  // The order takes away what the machine does in one direction. The runs with the hook are ten seconds.
  for (const bool call_hook : {false, true, true, false}) {
    const DurableRun run = WriteDurably(path, kSeconds, call_hook);
    rates[call_hook] += static_cast<double>(run.written) / std::max(run.seconds, 1e-3) / 2;
    complete &= run.complete;
    std::filesystem::remove_all(path);
  }
  const double share = rates[1] / std::max(rates[0], 1.0);
  return {{"rocksdb:strongbin, durable batches of 1,000, hook every 100 ms for 10 s",
           ">= 90 % of the rate without; no write lost",
           Grouped(100 * share, 1) + " % (" + Significant(rates[1]) + " beside " + Significant(rates[0]) + " op/s); " +
               (complete ? "every write found again" : "writes LOST"),
           complete && share >= kBound}};
}

// Eight writers on four column families, flushes far slower than the writers, a pool of 2 MiB.
std::vector<CheckRow> FullPoolBesideSlowFlushes(const CheckContext& context) {
  constexpr size_t kWriters = 8, kFamilies = 4, kWindows = 30;
  constexpr auto kPause = std::chrono::milliseconds(2);  // about 4 MB/s in all, four times what flushes write
  const std::string path = context.directory + "/selfcheck-slow-flush";
  rocksdb::Options options = Options("id=strongbin;pool=own;pool_cap_bytes=2M");
  options.write_buffer_size = size_t{1} << 20;
  options.max_write_buffer_number = 1000;  // RocksDB's own limit is not what is looked at
  options.rate_limiter.reset(rocksdb::NewGenericRateLimiter(int64_t{1} << 20));
  std::vector<rocksdb::ColumnFamilyDescriptor> families = {{rocksdb::kDefaultColumnFamilyName, options}};
  for (size_t i = 1; i < kFamilies; ++i) families.emplace_back("family" + std::to_string(i), options);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  if (!rocksdb::DB::Open(options, path, families, &handles, &db).ok()) {
    return {{"8 writers beside slow flushes", "progress", "the database did not open", false}};
  }
  std::array<std::array<std::atomic<uint64_t>, kWindows>, kWriters> progress{};
  std::atomic<bool> failed = false;
  const std::string value(1000, 'v');
  const uint64_t start_ns = NowNs();
  std::vector<std::thread> writers;
  for (size_t writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      for (uint64_t i = 0;; ++i) {
        if (!db->Put({}, handles[writer % kFamilies], KeyOf(i * kWriters + writer), value).ok()) failed = true;
        const uint64_t window = (NowNs() - start_ns) / kNsPerSecond;
        if (window >= kWindows || failed) return;
        progress[writer][window].fetch_add(1, std::memory_order_relaxed);
        std::this_thread::sleep_for(kPause);
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  uint64_t fewest = UINT64_MAX, sum = 0;
  for (const auto& of_writer : progress) {
    for (const auto& puts : of_writer) {
      fewest = std::min(fewest, puts.load());
      sum += puts.load();
    }
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles) static_cast<void>(db->DestroyColumnFamilyHandle(handle));
  delete db;
  std::filesystem::remove_all(path);
  return {{"rocksdb:strongbin, 8 writers, pool of 2 MiB, flushes of 1 MB/s, 30 s", "each writer goes on in each second",
           "at least " + Grouped(fewest) + " puts, " + Significant(static_cast<double>(sum) / (kWriters * kWindows)) +
               " on average",
           !failed && fewest > 0}};
}

constexpr std::array<Check, 2> kChecks = {&HookBesideDurableWrites, &FullPoolBesideSlowFlushes};

}  // namespace

std::span<const Check> EngineChecks() { return kChecks; }

}  // namespace strongbin::dbbench
