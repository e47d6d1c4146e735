// What a memtable reports is what it occupies: held against the resident pages of the pool's own mappings.
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

class RepResidentSizeTest : public testing::TestWithParam<size_t> {
 protected:
  // Fills a memtable as far as RocksDB would with this write_buffer_size, with keys of 16 and values of 128 bytes.
  static void FillUpTo(size_t write_buffer_size, FakeMemTable* table) {
    const std::string value(128, 'v');
    Sequence sequence = 0;
    while ((*table)->ApproximateMemoryUsage() < write_buffer_size - kMiB * 2 / 5) {
      ++sequence;
      ASSERT_TRUE(AddEntry(
          table->rep.get(),
          {.key = NumberKey(Scramble(sequence) % 10'000'000'000'000'000, 16), .sequence = sequence, .value = value}));
    }
  }
};

TEST_P(RepResidentSizeTest, ReportAndResidentPagesAgreeWithinATwentieth) {
  MeasuredSource source;
  ChunkPoolOptions options;
  options.custom_source = &source;
  options.cold_start = {.huge_pages = false, .populate = false};
  ChunkPool pool(options);
  FakeMemTable table(&pool);
  FillUpTo(GetParam(), &table);
  const auto reported = static_cast<double>(table->ApproximateMemoryUsage());
  EXPECT_NEAR(static_cast<double>(source.ResidentBytes()), reported, reported / 20);
}

TEST_P(RepResidentSizeTest, HugePagesAddAtMostASlabForEachClass) {
  MeasuredSource source;
  ChunkPoolOptions options;
  options.custom_source = &source;
  options.cold_start = {.huge_pages = true, .populate = true};
  ChunkPool pool(options);
  FakeMemTable table(&pool);
  FillUpTo(GetParam(), &table);
  const auto reported = static_cast<double>(table->ApproximateMemoryUsage());
  size_t classes = 0;
  for (const uint64_t bytes : pool.Stats().lent_bytes) classes += bytes > 0;
  const auto resident = static_cast<double>(source.ResidentBytes());
  EXPECT_GE(resident, reported * 19 / 20);
  EXPECT_LE(resident, reported * 21 / 20 + static_cast<double>(classes * kSlabBytes));
}

INSTANTIATE_TEST_SUITE_P(WriteBuffers, RepResidentSizeTest, testing::Values(8 * kMiB, 64 * kMiB),
                         [](const auto& each) { return std::to_string(each.param / kMiB) + "MiB"; });

}  // namespace
}  // namespace strongbin
