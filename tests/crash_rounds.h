// Processes that write to a store are killed at any moment, again and again. What they were told is written is there
// afterwards, and nothing else: of each thread's operations all that were acknowledged, and maybe the one that was
// under way, whole or not at all.
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <new>
#include <random>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/on_threads.h"
#include "strongbin/tests/memtable/test_keys.h"
#include "strongbin/tests/stats/page_test_util.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin::crash {

inline constexpr size_t kThreads = 3;
inline constexpr size_t kFamilies = 3;
// Of the memtables, one after the other in turns.
inline constexpr std::array kMemtableBytes = {size_t{64} << 10, size_t{1} << 20, size_t{256} << 10, size_t{64} << 20,
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

struct Change {
  enum class Kind : uint8_t { kPut, kDelete, kMerge };
  Kind kind;
  size_t family;
  std::string key;
  std::string value;
};
using Content = std::array<std::map<std::string, std::string>, kFamilies>;

// What threads write: told by the number of the operation alone.
struct Load {
  uint64_t seed;
  bool merges;  // otherwise put

  std::vector<Change> ChangesOf(size_t thread, uint64_t number) const {
    Random random(Scramble(seed * kThreads + thread) ^ number);
    std::vector<Change> changes(1 + (OneIn(&random, 4) ? Below(&random, 20) : 0));
    for (Change& change : changes) {
      const uint64_t kind = Below(&random, 10);
      change.kind = kind >= 6 && kind < 8 ? Change::Kind::kDelete
                    : merges && kind >= 8 ? Change::Kind::kMerge
                                          : Change::Kind::kPut;
      change.family = Below(&random, kFamilies);
      change.key = std::to_string(thread) + "/" + NumberKey(Below(&random, 400), 8 + Below(&random, 2) * 20);
      const size_t value_bytes = change.kind == Change::Kind::kMerge ? 3
                                 : OneIn(&random, 100)               ? 20'000
                                                                     : Below(&random, 300);
      change.value = std::to_string(number) + ":" + std::string(value_bytes, static_cast<char>('a' + number % 26));
    }
    return changes;
  }
};

inline void Apply(const std::vector<Change>& changes, Content* content) {
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

inline size_t ThreadOfKey(const std::string& key) {
  const auto thread = static_cast<size_t>(key.at(0) - '0');
  REQUIRE_IN_CHILD(thread < kThreads);
  return thread;
}

// In a child: ends only by being killed. write(changes) returns once they are acknowledged.
template <class Write>
[[noreturn]] void WriteForEver(const Load& load, Ledger* ledger, const Write& write) {
  OnThreads(kThreads, [&](size_t thread) {
    Ledger::Line& line = ledger->lines[thread];
    for (uint64_t i = line.acknowledged.load();; ++i) {
      line.begun.store(i + 1);
      write(load.ChangesOf(thread, i));
      line.acknowledged.store(i + 1);
    }
  });
  std::abort();
}

// In a child. Puts the ledger right: the operation that was under way has happened or not.
inline void Verify(const Load& load, const std::array<Content, kThreads>& found, Ledger* ledger) {
  for (size_t thread = 0; thread < kThreads; ++thread) {
    Ledger::Line& line = ledger->lines[thread];
    Content expected;
    uint64_t count = 0;
    for (; count < line.acknowledged.load(); ++count) Apply(load.ChangesOf(thread, count), &expected);
    if (found[thread] == expected) continue;
    REQUIRE_IN_CHILD(line.begun.load() == count + 1);  // otherwise what was acknowledged is not there
    Apply(load.ChangesOf(thread, count), &expected);
    REQUIRE_IN_CHILD(found[thread] == expected);
    line.acknowledged.store(count + 1);
  }
}

// Calls, in children, write(load, number of the round, ledger), which calls WriteForEver, and after its end
// verify(...) of the same, which opens the store anew, reads all of it and calls Verify.
using Part = std::function<void(const Load&, uint64_t number, Ledger*)>;
inline void RunRounds(uint64_t rounds, bool merges, const Part& write, const Part& verify) {
  void* shared = mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* ledger = new (shared) Ledger;
  const Load load{std::random_device{}(), merges};
  Random random(load.seed);
  for (uint64_t number = 0; number < rounds && !testing::Test::HasFailure(); ++number) {
    SCOPED_TRACE(testing::Message() << "seed " << load.seed << ", round " << number);
    // After so many acknowledged operations, and then at once.
    const uint64_t wanted = ledger->acknowledged() + Below(&random, OneIn(&random, 4) ? 20 : 1500);
    const pid_t writer = StartChild([&] { write(load, number, ledger); });
    while (ledger->acknowledged() <= wanted && waitpid(writer, nullptr, WNOHANG) == 0) usleep(50);
    kill(writer, SIGKILL);
    ASSERT_EQ(WaitFor(writer), -SIGKILL) << "the writer ended by itself";
    ASSERT_EQ(InChild([&] { verify(load, number, ledger); }), 0);
  }
  EXPECT_GT(ledger->acknowledged(), rounds * 100);
  munmap(shared, sizeof(Ledger));
}

}  // namespace strongbin::crash
