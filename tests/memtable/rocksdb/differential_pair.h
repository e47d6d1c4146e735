// Both databases, driven through one round by the same operations. Runs in a process of its own, that may be killed.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "strongbin/tests/memtable/rocksdb/differential_side.h"

namespace strongbin::differential {

// The names of both factories: the one that is trusted and the one under test, as CreateFromString takes them.
struct FactoryNames {
  std::string expected = "skip_list";
  std::string actual = "strongbin";
};

// How far the round is. Lies in a mapped file, so that it survives the process.
struct Progress {
  std::atomic<uint64_t> done_count{0};   // operations that both databases have acknowledged
  std::atomic<uint64_t> last_marker{0};  // of the last write that both acknowledged with a marker
  std::atomic<uint64_t> kill_is_coming{0};
  std::atomic<uint64_t> is_swapped{0};  // each factory has the other's database
  std::atomic<uint64_t> is_finished{0};
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

class Pair {
 public:
  // `directory` holds both databases, or is where they are made.
  Pair(const Round& round, const FactoryNames& factories, const std::string& directory, Progress* progress);

  // From where the last process was stopped to the end of the round. Empty where both databases gave the same answers,
  // else what differs.
  std::string Run();

 private:
  bool Open();
  bool ResolveInterruptedWrite();
  bool Step(size_t index);
  bool Reopen(const Operation& operation);
  // Both do the operation; false, with report_ set, where they answer differently.
  bool ExecuteOnBoth(const Operation& operation, uint64_t marker);
  bool Fail(std::string report);
  [[noreturn]] static void WaitForTheKill();

  const Round& round_;
  Progress* const progress_;
  std::array<std::shared_ptr<ROCKSDB_NAMESPACE::MemTableRepFactory>, 2> factories_;
  const bool checks_memtables_;
  std::array<Side, 2> sides_;
  std::array<Trace, 2> traces_;
  std::string report_;
};

}  // namespace strongbin::differential
