// What a memtable reports is what it occupies: held against the resident pages of the pool's own mappings.
#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/pool/chunk_source.h"
#include "strongbin/tests/memtable/rocksdb/fake_engine.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Memory of the operating system that knows which of its pages are resident.
class MeasuredSource final : public MmapChunkSource {
 public:
  void* Map(size_t bytes, size_t alignment, bool huge_pages) override {
    void* ptr = MmapChunkSource::Map(bytes, alignment, huge_pages);
    const std::lock_guard lock(mutex_);
    if (ptr != nullptr) mapped_[ptr] = bytes;
    return ptr;
  }
  bool Unmap(void* ptr, size_t bytes) override {
    const std::lock_guard lock(mutex_);
    mapped_.erase(ptr);
    return MmapChunkSource::Unmap(ptr, bytes);
  }

  size_t ResidentBytes() {
    const std::lock_guard lock(mutex_);
    size_t pages = 0;
    for (const auto& [ptr, bytes] : mapped_) {
      std::vector<unsigned char> is_resident((bytes + page_bytes() - 1) / page_bytes());
      EXPECT_EQ(mincore(ptr, bytes, is_resident.data()), 0);
      for (const unsigned char page : is_resident) pages += page & 1;
    }
    return pages * page_bytes();
  }

 private:
  std::mutex mutex_;
  std::map<void*, size_t> mapped_;  // guarded by mutex_
};

// A memtable filled as far as RocksDB would with this write_buffer_size, with keys of 16 and values of 128 bytes, from
// a pool whose memory is measured.
class FilledTable {
 public:
  FilledTable(size_t write_buffer_size, const ColdStart& cold_start)
      : pool_({.cold_start = cold_start, .custom_source = &source_}), table_(&pool_) {
    const std::string value(128, 'v');
    Sequence sequence = 0;
    while (table_->ApproximateMemoryUsage() < write_buffer_size - kMiB * 2 / 5) {
      ++sequence;
      EXPECT_TRUE(AddEntry(
          table_.rep.get(),
          {.key = NumberKey(Scramble(sequence) % 10'000'000'000'000'000, 16), .sequence = sequence, .value = value}));
    }
  }

  double reported_bytes() { return static_cast<double>(table_->ApproximateMemoryUsage()); }
  double resident_bytes() { return static_cast<double>(source_.ResidentBytes()); }
  size_t lent_class_count() const {
    const auto lent_bytes = pool_.Stats().lent_bytes;
    return static_cast<size_t>(std::ranges::count_if(lent_bytes, [](uint64_t bytes) { return bytes > 0; }));
  }

 private:
  MeasuredSource source_;
  ChunkPool pool_;
  FakeMemTable table_;
};

class RepResidentSizeTest : public testing::TestWithParam<size_t> {};

TEST_P(RepResidentSizeTest, ReportAndResidentPagesAgreeWithinATwentieth) {
  FilledTable table(GetParam(), {.huge_pages = false, .populate = false});
  EXPECT_NEAR(table.resident_bytes(), table.reported_bytes(), table.reported_bytes() / 20);
}

TEST_P(RepResidentSizeTest, HugePagesAddAtMostASlabForEachClass) {
  FilledTable table(GetParam(), {.huge_pages = true, .populate = true});
  const double slab_bytes = static_cast<double>(table.lent_class_count() * kSlabBytes);
  EXPECT_GE(table.resident_bytes(), table.reported_bytes() * 19 / 20);
  EXPECT_LE(table.resident_bytes(), table.reported_bytes() * 21 / 20 + slab_bytes);
}

INSTANTIATE_TEST_SUITE_P(WriteBuffers, RepResidentSizeTest, testing::Values(8 * kMiB, 64 * kMiB),
                         [](const auto& each) { return std::to_string(each.param / kMiB) + "MiB"; });

}  // namespace
}  // namespace strongbin
