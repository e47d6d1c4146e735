// Records spread over buckets whose ranges of keys follow each other, each to be sorted within the cache.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "strongbin/memtable/sorted_run.h"

namespace strongbin {

// A samplesort of many records, in memory that the caller lends. Idea: P. Sanders and S. Winkel, "Super Scalar Sample
// Sort": splitters from a sample, in a heap-shaped tree that is gone down without branches. The sorts of the buckets
// are the library's, of 64-bit numbers that each stand for a record: bits that tell it from others, and its index.
//
// Borrows the scratch. Thread safety: one thread at a time. Lifetime: one sort. When full: Split and Add answer false
// if a bucket is, or would be, larger than kMaxBucketRecords; otherwise there is room for all. Cost: Add takes six
// instructions for each of log2(buckets) levels and a store; SortBucket reads a bucket three times, the first of them
// from where Add has put it, and sorts as many 64-bit numbers.
class RecordBuckets {
 public:
  static constexpr uint64_t kMaxBucketRecords = SortedRun::kChunkRecords;

  // Scratch bytes for `count` records, to be aligned to a page.
  static size_t ScratchBytes(uint64_t count);
  RecordBuckets(void* scratch, uint64_t count);

  // To be filled with records of the whole range before Split.
  std::span<RunRecord> sample() const { return {work_->buffer, uint64_t{bucket_count_} * kSampledForBucket}; }
  // Takes splitters from the first `count` of the sample, of which there must be one.
  [[nodiscard]] bool Split(uint64_t count);

  // Records with the same key bits all come into one bucket. Flush when all have been added.
  [[nodiscard]] bool Add(const RunRecord& record) {
    pending_[pending_count_++] = record;
    return pending_count_ < kTogether || Flush();
  }
  [[nodiscard]] bool Flush();

  uint32_t bucket_count() const { return bucket_count_; }
  uint64_t SizeOf(uint32_t bucket) const;
  // Room for the records of any bucket.
  RunRecord* buffer() const { return work_->buffer; }
  // Puts the records of a bucket to `out` in the order of their bits. False: no two of them have the same key bits.
  bool SortBucket(uint32_t bucket, RunRecord* out);

 private:
  static constexpr size_t kBlockBytes = 4096;
  static constexpr uint64_t kBlockRecords = kBlockBytes / sizeof(RunRecord);
  static constexpr uint64_t kMaxBucketBlocks = kMaxBucketRecords / kBlockRecords;
  // So that a bucket, its numbers and what becomes of it fit the cache, and all buckets' open lines do.
  static constexpr uint64_t kTargetRecords = 8192;
  static constexpr uint32_t kMaxBuckets = 1024;
  static constexpr uint64_t kSampledForBucket = 8;

  struct Work {
    RunRecord tree[kMaxBuckets];         // node n has 2n and 2n+1 below it; the root is 1
    uint64_t prefix_tree[kMaxBuckets];
    RunRecord* ends[kMaxBuckets];        // where the next record goes, unless that is the start of a block
    uint32_t block_counts[kMaxBuckets];  // of each bucket
    uint32_t first_blocks[kMaxBuckets];
    uint32_t last_blocks[kMaxBuckets];
    uint64_t numbers[kMaxBucketRecords];
    RunRecord buffer[kMaxBucketRecords];
  };
  static uint64_t BlockCount(uint64_t record_count);
  static uint32_t LevelCount(uint64_t record_count);

  [[nodiscard]] bool AddBlock(uint32_t bucket);
  void FillTree(uint32_t node, uint64_t begin, uint64_t end);
  bool SettleTies(uint64_t count, uint32_t index_bits, RunRecord* out);

  // So many go down the tree side by side.
  static constexpr uint32_t kTogether = 8;
  template <class Tree>
  bool Distribute(const Tree& tree);

  const uint64_t record_count_;
  const uint32_t level_count_, bucket_count_;
  RunRecord* const blocks_;
  Work* const work_;
  uint32_t* const next_blocks_;  // of each block, the next one of its bucket
  uint32_t used_block_count_ = 0;
  bool by_prefix_ = false;
  uint32_t pending_count_ = 0;
  std::array<RunRecord, kTogether> pending_{};
};

}  // namespace strongbin
