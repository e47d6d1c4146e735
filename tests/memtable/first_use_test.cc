// fork() while another thread uses the library for the first time. Each round is a process in which nobody has used it.
#include <atomic>
#include <csignal>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/test_keys.h"
#include "strongbin/tests/stats/page_test_util.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

// The first use of pool, hook, pins and the room for sorting.
void UseForTheFirstTime() {
  constexpr uint64_t kKeys = 2000;
  ChunkPool pool;
  AppendOnlyMemtable table({.pool = &pool});
  for (uint64_t i = 0; i < kKeys; ++i) REQUIRE_IN_CHILD(table.Put(NumberKey(Scramble(i), 20), i, "value").ok());
  MemtableIterator iterator = table.NewIterator();
  iterator.SeekToFirst();
  REQUIRE_IN_CHILD(iterator.Valid());
}

TEST(FirstUseTest, AChildUsesWhatAnotherThreadOfItsParentHadBegunToUse) {
  if (kAddressSanitizer || kThreadSanitizer) {
    GTEST_SKIP() << "the sanitizer's own heap may be locked in the child of a process with many threads";
  }
  for (uint64_t round = 0; round < TestScale(60, 1000) && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    EXPECT_EQ(InChild([&] {
                std::atomic<bool> begins{false};
                std::thread user([&] {
                  begins = true;
                  UseForTheFirstTime();
                });
                while (!begins) {
                }
                // A little later each time: at any point of what the other thread does first.
                for (std::atomic<uint64_t> step{0}; step < round % 30 * 50; ++step) {
                }
                const pid_t child = fork();
                if (child == 0) {
                  alarm(20);
                  UseForTheFirstTime();
                  _exit(0);
                }
                REQUIRE_IN_CHILD(WaitFor(child) == 0);
                user.join();
              }),
              0);
  }
}

}  // namespace
}  // namespace strongbin
