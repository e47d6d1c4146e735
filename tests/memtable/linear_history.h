// Histories of puts, gets and scans by several threads, and whether some order of single steps explains them.
//
// A key's versions are a set to which puts add and of which a get at a snapshot shows the largest number at or below
// it. For such a set a history is linearisable if and only if each read shows what was put before the read ended, at
// least what every put that ended before the read began has added, and at least what every read that ended before it
// began has shown. A scan, moreover, shows one moment: what it shows of one key must not be newer than what it lacks of
// another.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/types.h"
#include "strongbin/tests/memtable/on_threads.h"
#include "strongbin/tests/memtable/proved_value.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {

// What a read shows of a key; 0: nothing.
using ShownVersions = std::map<uint64_t, Sequence>;

struct HistoryOperation {
  enum class Kind : uint8_t { kPut, kGet, kScan };
  Kind kind;
  uint64_t began;  // moments of one clock, all different
  uint64_t ended;
  uint64_t key;       // of put and get
  Sequence sequence;  // of the put, or the snapshot
  ShownVersions shown;
};
using OperationHistory = std::vector<HistoryOperation>;

[[nodiscard]] inline testing::AssertionResult IsLinearisable(const OperationHistory& history, uint64_t key_count) {
  using Kind = HistoryOperation::Kind;
  const auto wrong = [](const HistoryOperation& read, uint64_t key, Sequence shown, const std::string& why) {
    return testing::AssertionFailure() << (read.kind == Kind::kScan ? "a scan" : "a get") << " of [" << read.began
                                       << ", " << read.ended << "] at snapshot " << read.sequence << " shows version "
                                       << shown << " of key " << key << ", but " << why;
  };
  struct Fact {
    uint64_t ended;
    Sequence sequence;  // was there when it ended
  };
  std::vector<std::vector<Fact>> facts(key_count);
  std::map<std::pair<uint64_t, Sequence>, const HistoryOperation*> puts;
  for (const HistoryOperation& operation : history) {
    if (operation.kind == Kind::kPut) {
      puts[{operation.key, operation.sequence}] = &operation;
      facts[operation.key].push_back({operation.ended, operation.sequence});
    } else {
      for (const auto& [key, sequence] : operation.shown) facts[key].push_back({operation.ended, sequence});
    }
  }
  for (const HistoryOperation& read : history) {
    if (read.kind == Kind::kPut) continue;
    uint64_t newest_began = read.began;
    for (const auto& [key, shown] : read.shown) {
      if (shown == 0) continue;
      const auto put = puts.find({key, shown});
      if (put == puts.end() || put->second->began > read.ended) return wrong(read, key, shown, "nobody had put it");
      if (shown > read.sequence) return wrong(read, key, shown, "it is newer than the snapshot");
      newest_began = std::max(newest_began, put->second->began);
    }
    // A scan that shows a put has seen all that ended before that began.
    const uint64_t since = read.kind == Kind::kScan ? newest_began : read.began;
    for (const auto& [key, shown] : read.shown) {
      for (const Fact& fact : facts[key]) {
        if (fact.ended < since && fact.sequence <= read.sequence && fact.sequence > shown) {
          return wrong(read, key, shown,
                       "version " + std::to_string(fact.sequence) + " was there at " + std::to_string(fact.ended));
        }
      }
    }
  }
  return testing::AssertionSuccess();
}

// One version that a store shows, as bytes.
struct ShownEntry {
  std::string key;
  Sequence sequence;
  std::string value;
};

// Lets threads put, get and scan a store, and writes down what each saw. A store has
//   bool Put(const std::string& key, Sequence, const std::string& value);
//   std::optional<ShownEntry> Get(const std::string& key, Sequence snapshot);
//   std::vector<ShownEntry> Scan(Sequence snapshot);
template <class Store>
class HistoryRun {
 public:
  HistoryRun(Store* store, uint64_t seed, uint64_t key_count) : store_(store), seed_(seed), key_count_(key_count) {}

  OperationHistory Run(uint64_t thread_count, uint64_t operations_each) {
    std::vector<OperationHistory> histories(thread_count);
    OnThreads(thread_count, [&](uint64_t thread) {
      Random random(seed_ * 1000 + thread);
      for (uint64_t i = 0; i < operations_each; ++i) {
        const uint64_t choice = Below(&random, 16);
        histories[thread].push_back(choice < 8 ? Put(&random) : choice < 15 ? Get(&random) : Scan(&random));
      }
    });
    OperationHistory all;
    for (const OperationHistory& history : histories) all.insert(all.end(), history.begin(), history.end());
    return all;
  }
  // What was shown and could not prove itself, or was not what its operation asked for.
  uint64_t unproved_count() const { return unproved_.load(); }

 private:
  static std::string KeyOf(uint64_t key) {
    return NumberKey(Scramble(key) % 1'000'000, key % 2 == 0 ? 8 : 24) + std::to_string(key);
  }
  uint64_t Now() { return clock_.fetch_add(1); }
  // Half of the reads look at the newest, the others at some earlier number.
  Sequence RandomSnapshot(Random* random) {
    const Sequence last = next_.load();
    return OneIn(random, 2) ? kMaxSequence : Below(random, last + 1);
  }

  HistoryOperation Put(Random* random) {
    const uint64_t key = Below(random, key_count_);
    HistoryOperation put{HistoryOperation::Kind::kPut, Now(), 0, key, 0, {}};
    put.sequence = next_.fetch_add(1) + 1;
    if (!store_->Put(KeyOf(key), put.sequence, ProvedValue(KeyOf(key), put.sequence, seed_, Below(random, 100)))) {
      unproved_.fetch_add(1);
    }
    put.ended = Now();
    return put;
  }
  HistoryOperation Get(Random* random) {
    const uint64_t key = Below(random, key_count_);
    const Sequence snapshot = RandomSnapshot(random);
    HistoryOperation get{HistoryOperation::Kind::kGet, Now(), 0, key, snapshot, {}};
    const std::optional<ShownEntry> shown = store_->Get(KeyOf(key), snapshot);
    get.ended = Now();
    get.shown[key] = shown ? shown->sequence : 0;
    if (shown) Prove(key, *shown);
    return get;
  }
  HistoryOperation Scan(Random* random) {
    const Sequence snapshot = RandomSnapshot(random);
    HistoryOperation scan{HistoryOperation::Kind::kScan, Now(), 0, 0, snapshot, {}};
    const std::vector<ShownEntry> entries = store_->Scan(snapshot);
    scan.ended = Now();
    for (uint64_t key = 0; key < key_count_; ++key) scan.shown[key] = 0;
    std::string last;
    for (const ShownEntry& entry : entries) {
      const auto key = std::strtoull(entry.key.c_str() + (entry.key.size() < 24 ? 8 : 24), nullptr, 10);
      Prove(key, entry);
      if (!last.empty() && entry.key <= last) unproved_.fetch_add(1);
      last = entry.key;
      if (key < key_count_) scan.shown[key] = entry.sequence;
    }
    return scan;
  }
  void Prove(uint64_t key, const ShownEntry& entry) {
    const bool proved = key < key_count_ && entry.key == KeyOf(key) &&
                        ProvedGeneration(entry.key, entry.sequence, entry.value) == seed_;
    if (!proved) unproved_.fetch_add(1);
  }

  Store* const store_;
  const uint64_t seed_;
  const uint64_t key_count_;
  std::atomic<uint64_t> clock_{1};
  std::atomic<Sequence> next_{0};
  std::atomic<uint64_t> unproved_{0};
};

}  // namespace strongbin
