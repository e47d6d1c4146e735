// The operating system itself refuses memory: a process whose address space is limited.
#include <cstdint>
#include <cstdio>
#include <string>
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/test_keys.h"
#include "strongbin/tests/stats/page_test_util.h"

namespace strongbin {
namespace {

size_t AddressSpaceBytes() {
  unsigned long pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  REQUIRE_IN_CHILD(file != nullptr && std::fscanf(file, "%lu", &pages) == 1);
  std::fclose(file);
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}
void LimitAddressSpace(rlim_t bytes) {
  rlimit limit{};
  REQUIRE_IN_CHILD(getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = bytes;
  REQUIRE_IN_CHILD(setrlimit(RLIMIT_AS, &limit) == 0);
}

void WriteUntilRefusedAndGoOn(size_t room_bytes, size_t value_bytes) {
  ChunkPool pool;
  AppendOnlyMemtable table({.pool = &pool});
  const std::string value(value_bytes, 'v');
  REQUIRE_IN_CHILD(table.Put(NumberKey(Scramble(0), 20), 1, value).ok());
  LimitAddressSpace(AddressSpaceBytes() + room_bytes);
  uint64_t count = 1;
  Status status;
  for (;; ++count) {
    status = table.Put(NumberKey(Scramble(count), 20), 1 + count, value);
    if (!status.ok()) break;
    REQUIRE_IN_CHILD(count * value_bytes <= 2 * room_bytes);
  }
  REQUIRE_IN_CHILD(status == Status::Code::kOutOfMemory);
  REQUIRE_IN_CHILD(pool.Stats().refusals > 0);
  REQUIRE_IN_CHILD(table.entry_count() == count);
  REQUIRE_IN_CHILD(table.MemoryUsage() == LentBytes(pool));
  for (uint64_t i = 0; i < count; ++i) REQUIRE_IN_CHILD(table.Get(NumberKey(Scramble(i), 20)).value == value);
  REQUIRE_IN_CHILD(!table.Get(NumberKey(Scramble(count), 20)).found());
  {
    // An ordered read needs memory of its own: all or an answer.
    MemtableIterator iterator = table.NewIterator();
    uint64_t seen = 0;
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) ++seen;
    REQUIRE_IN_CHILD(iterator.status().ok() ? seen == count
                                            : iterator.status() == Status::Code::kOutOfMemory && seen == 0);
  }
  LimitAddressSpace(RLIM_INFINITY);
  REQUIRE_IN_CHILD(table.Put(NumberKey(Scramble(count), 20), 1 + count, value).ok());
  REQUIRE_IN_CHILD(table.ResetWarm().ok());
  REQUIRE_IN_CHILD(LentBytes(pool) == 0);
  REQUIRE_IN_CHILD(pool.OnMemoryPressure() > 0);
}

TEST(AddressSpaceTest, WritesAreAnsweredOutOfMemoryLoseNothingAndGoOn) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers' shadow needs more address space than there is";
  for (const size_t value_bytes : {size_t{10}, size_t{1'000}, size_t{50'000}}) {
    SCOPED_TRACE(value_bytes);
    EXPECT_EQ(InChild([=] { WriteUntilRefusedAndGoOn(size_t{24} << 20, value_bytes); }), 0);
  }
}

}  // namespace
}  // namespace strongbin
