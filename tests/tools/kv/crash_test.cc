// A writer in a process of its own is killed at any moment; what its writes had promised is there afterwards.
#include <array>
#include <csignal>
#include <cstdlib>
#include <random>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "strongbin/tests/test_scale.h"
#include "strongbin/tests/tools/kv/store_fixture.h"

namespace strongbin::kv {
namespace {

constexpr uint64_t kBatchEntries = 10;
constexpr uint64_t kKeys = 700;  // so that keys are written again and again, in different tables

constexpr char kMark = '\x01';  // a write has returned

// Batch number `batch` writes its number to these keys.
std::string KeyOf(uint64_t batch, uint64_t entry) { return std::to_string((batch * kBatchEntries + entry) % kKeys); }

class CrashTest : public StoreTest {
 protected:
  CrashTest() { options_.table_bytes = size_t{32} << 10; }

  // Starts the writer, which goes on after `done` batches, and kills it after some time. Returns the number of batches
  // whose write had returned.
  uint64_t WriteAndDie(uint64_t done, unsigned microseconds) {
    std::array<int, 2> pipe_ends{};
    EXPECT_EQ(pipe(pipe_ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      dup2(pipe_ends[1], STDOUT_FILENO);
      setenv("KV_CRASH_DIRECTORY", options_.directory.c_str(), 1);
      setenv("KV_CRASH_DONE", std::to_string(done).c_str(), 1);
      execl("/proc/self/exe", "crash_test", "--gtest_also_run_disabled_tests", "--gtest_brief=1",
            "--gtest_filter=CrashTest.DISABLED_Writer", nullptr);
      _exit(127);
    }
    close(pipe_ends[1]);
    uint64_t returned = done;
    char mark = 0;
    bool begun = false;
    while (read(pipe_ends[0], &mark, 1) == 1) {
      if (mark != kMark) continue;  // what the test framework prints
      ++returned;
      if (begun) continue;
      begun = true;
      usleep(microseconds);
      kill(child, SIGKILL);
    }
    close(pipe_ends[0]);
    waitpid(child, nullptr, 0);
    return returned;
  }
};

// Not a test: the process that is killed.
TEST_F(CrashTest, DISABLED_Writer) {
  const char* directory = std::getenv("KV_CRASH_DIRECTORY");
  const char* done = std::getenv("KV_CRASH_DONE");
  if (directory == nullptr || done == nullptr) GTEST_SKIP() << "to be started by WhatWasPromisedSurvivesAKill";
  options_.directory = directory;
  ASSERT_TRUE(Reopen().ok());
  for (uint64_t batch = std::strtoull(done, nullptr, 10);; ++batch) {
    Batch writes;
    for (uint64_t entry = 0; entry < kBatchEntries; ++entry) {
      writes.Put(KeyOf(batch, entry), std::to_string(batch));
    }
    ASSERT_TRUE(store_->Write(writes).ok());
    if (write(STDOUT_FILENO, &kMark, 1) != 1) return;
  }
}

TEST_F(CrashTest, WhatWasPromisedSurvivesAKill) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  uint64_t done = 0;
  const size_t rounds = TestScale(12, 200);
  for (size_t round = 0; round < rounds; ++round) {
    const uint64_t returned = WriteAndDie(done, static_cast<unsigned>(random() % 60'000));
    ASSERT_GT(returned, done) << "the writer wrote nothing";
    ASSERT_TRUE(Reopen().ok());
    // The batch at which the writer was killed may be there as a whole.
    const Content content = Scan();
    const auto expected = [](uint64_t batches) {
      Content model;
      const uint64_t first = batches > kKeys ? batches - kKeys : 0;
      for (uint64_t batch = first; batch < batches; ++batch) {
        for (uint64_t entry = 0; entry < kBatchEntries; ++entry) model[KeyOf(batch, entry)] = std::to_string(batch);
      }
      return model;
    };
    done = content == expected(returned) ? returned : returned + 1;
    ASSERT_EQ(content, expected(done)) << "round " << round << ", " << returned << " writes had returned";
    store_.reset();
  }
}

}  // namespace
}  // namespace strongbin::kv
