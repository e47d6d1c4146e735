// Records that are spread over buckets, sorted there, and come out as one run.
#include "strongbin/memtable/record_buckets.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/sorted_run.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

constexpr uint64_t kMost = RecordBuckets::kMaxBucketRecords;

class RecordBucketsTest : public testing::Test {
 protected:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  // A run of the records, or none if a bucket would have to hold too many. Of the sample every record is `sampled(i)`,
  // or one of all.
  RefPtr<SortedRun> Sort(const std::vector<RunRecord>& records,
                         const std::function<RunRecord(uint64_t)>& sampled = nullptr) {
    constexpr size_t kPageBytes = 4096;
    const size_t bytes = (RecordBuckets::ScratchBytes(records.size()) + kPageBytes - 1) / kPageBytes * kPageBytes;
    const std::unique_ptr<void, Free> scratch(std::aligned_alloc(kPageBytes, bytes));
    RefPtr<SortedRun> run = SortedRun::Make(&space_, 0, records.size());
    EXPECT_TRUE(run->ReserveAll());
    RecordBuckets buckets(scratch.get(), records.size(), run.get());
    Random random(3);
    for (uint64_t i = 0; i < buckets.sample().size(); ++i) {
      buckets.sample()[i] = sampled ? sampled(i) : records[Below(&random, records.size())];
    }
    if (!buckets.Split(buckets.sample().size())) return {};
    for (const RunRecord& record : records) {
      if (!buckets.Add(record)) return {};
    }
    if (!buckets.EndAdding()) return {};
    for (uint32_t bucket = 0; bucket < buckets.bucket_count(); ++bucket) {
      const bool may_agree = buckets.Sort(bucket);
      const std::span<RunRecord> sorted = buckets.sorted();
      EXPECT_TRUE(may_agree || std::adjacent_find(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
                                 return a.key_bits() == b.key_bits();
                               }) == sorted.end());
      // Those with the same bits of their keys are not torn apart.
      if (run->size() > 0 && !sorted.empty()) {
        EXPECT_LT(run->At(run->size() - 1).key_bits(), sorted[0].key_bits());
      }
      buckets.ClearUpTo(run->size() + sorted.size());
      EXPECT_TRUE(run->AppendAll(sorted.data(), sorted.size()));
    }
    return run;
  }

  void ExpectSorted(std::vector<RunRecord> records, const std::string& what) {
    const RefPtr<SortedRun> run = Sort(records);
    ASSERT_TRUE(run) << what;
    ASSERT_EQ(run->size(), records.size()) << what;
    std::sort(records.begin(), records.end(), IsBefore);
    for (uint64_t i = 0; i < records.size(); ++i) {
      ASSERT_EQ(run->At(i).prefix, records[i].prefix) << what << " at " << i;
      ASSERT_EQ(run->At(i).rest, records[i].rest) << what << " at " << i;
    }
  }
  static bool IsBefore(const RunRecord& a, const RunRecord& b) { return a.bits() < b.bits(); }

  // The i-th record has what `key` says of (random, i), prefix and the four bytes behind it, and the handle i.
  using KeyOf = std::function<std::pair<uint64_t, uint32_t>(Random*, uint64_t)>;
  static std::vector<RunRecord> Make(uint64_t count, const KeyOf& key) {
    Random random(count);
    std::vector<RunRecord> records(count);
    for (uint64_t i = 0; i < count; ++i) {
      const auto [prefix, rest] = key(&random, i);
      records[i] = {.rest = (uint64_t{rest} << 32) | i, .prefix = prefix};
    }
    return records;
  }

  ChunkPool pool_;
  RunSpace space_{.supply = &pool_};
};

uint32_t Below32(Random* random, uint32_t bound) { return static_cast<uint32_t>(Below(random, bound)); }

struct Shape {
  const char* name;
  std::function<std::pair<uint64_t, uint32_t>(Random*, uint64_t)> key;
};

const Shape kShapes[] = {
    {"random", [](Random* random, uint64_t) { return std::pair((*random)(), static_cast<uint32_t>((*random)())); }},
    {"ascending", [](Random*, uint64_t i) { return std::pair(i << 20, 0u); }},
    {"descending", [](Random*, uint64_t i) { return std::pair(~i, 1u); }},
    {"nearly ascending",
     [](Random* random, uint64_t i) { return std::pair(OneIn(random, 100) ? (*random)() >> 30 : i << 14, 0u); }},
    {"eight bytes in common",
     [](Random* random, uint64_t) { return std::pair(uint64_t{7}, Below32(random, 1u << 31)); }},
    {"decimal digits",
     [](Random* random, uint64_t) {
       uint64_t prefix = 0;
       for (int digit = 0; digit < 8; ++digit) prefix = prefix << 8 | ('0' + Below(random, 10));
       return std::pair(prefix, uint32_t{0x30303030});
     }},
    {"versions of 50 keys", [](Random* random, uint64_t) { return std::pair(Below(random, 50), 5u); }},
    {"versions of every key", [](Random*, uint64_t i) { return std::pair(Scramble(i / 3), 0u); }},
    // Numbers that stand for records have no room for what tells these apart.
    {"far apart, and close in the last bits",
     [](Random* random, uint64_t) { return std::pair(Below(random, 40) << 58, Below32(random, 5'000)); }},
    {"starts of their own, and what follows",
     [](Random* random, uint64_t) { return std::pair(Below(random, 200) << 40, Below32(random, ~0u)); }},
    {"starts of all bits, and what follows",
     [](Random* random, uint64_t) { return std::pair(Scramble(Below(random, 200)), Below32(random, ~0u)); }},
    {"the last bit of the prefix, and what follows",
     [](Random* random, uint64_t) { return std::pair(Below(random, 2), Below32(random, ~0u)); }},
    {"the same, and rarely so",
     [](Random* random, uint64_t) {
       return OneIn(random, 50) ? std::pair(Scramble(Below(random, 30)), Below32(random, 1'000))
                                : std::pair((*random)(), 0u);
     }},
    {"all bits set or none",
     [](Random* random, uint64_t) {
       return std::pair(OneIn(random, 2) ? ~uint64_t{0} : uint64_t{0},
                        OneIn(random, 10) ? ~0u : Below32(random, 1u << 30));
     }},
    {"one half alike",
     [](Random* random, uint64_t i) { return std::pair(OneIn(random, 2) ? (*random)() : i / 2'000, 0u); }},
};

TEST_F(RecordBucketsTest, SortsAllShapes) {
  for (const Shape& shape : kShapes) {
    for (const uint64_t count : {kMost + 1, 3 * kMost + 77}) {
      ASSERT_NO_FATAL_FAILURE(ExpectSorted(Make(count, shape.key), shape.name));
    }
  }
}

// Ends of blocks, of what goes down the tree together and of the run's chunks.
TEST_F(RecordBucketsTest, SortsAnyNumberOfRecords) {
  for (const uint64_t around : {uint64_t{256}, uint64_t{512}, uint64_t{8'192}, 2 * kMost}) {
    for (uint64_t count = around - 2; count <= around + 9; ++count) {
      ASSERT_NO_FATAL_FAILURE(ExpectSorted(Make(count, kShapes[0].key), std::to_string(count)));
    }
  }
}

TEST_F(RecordBucketsTest, OneKeyWithTooManyVersionsIsSeenInTheSample) {
  EXPECT_FALSE(Sort(Make(2 * kMost, [](Random*, uint64_t i) { return std::pair(uint64_t{i % 2 == 0}, 0u); })));
}

// A sample that tells nothing: all comes into one bucket, which takes what it can.
TEST_F(RecordBucketsTest, BucketTakesUpToItsLimit) {
  const auto elsewhere = [](uint64_t i) { return RunRecord{.rest = 0, .prefix = (uint64_t{1} << 63) + i}; };
  const auto low = [](Random* random, uint64_t) { return std::pair((*random)() >> 1, 0u); };
  EXPECT_FALSE(Sort(Make(kMost, low), elsewhere));
  std::vector<RunRecord> records = Make(kMost - 256, low);
  const RefPtr<SortedRun> run = Sort(records, elsewhere);
  ASSERT_TRUE(run);
  std::sort(records.begin(), records.end(), IsBefore);
  for (uint64_t i = 0; i < records.size(); ++i) ASSERT_EQ(run->At(i).bits() == records[i].bits(), true) << i;
}

// Blocks of the later buckets lie where the first are to go, again and again.
TEST_F(RecordBucketsTest, BlocksMakeWayInAnyOrderOfArrival) {
  constexpr uint64_t kCount = 4 * kMost + 100;
  const std::vector<std::function<uint64_t(uint64_t)>> orders = {
      [](uint64_t i) { return kCount - i; },                 // the last come first
      [](uint64_t i) { return i % 64 * kCount + i; },        // in turns
      [](uint64_t i) { return (i / 300) * 7919 % kCount; },  // a block or so at a time
      [](uint64_t i) { return i < kCount / 2 ? kCount + i : i; },
  };
  for (const auto& order : orders) {
    ASSERT_NO_FATAL_FAILURE(
        ExpectSorted(Make(kCount, [&](Random*, uint64_t i) { return std::pair(order(i) << 8, 0u); }), "order"));
  }
}

}  // namespace
}  // namespace strongbin
