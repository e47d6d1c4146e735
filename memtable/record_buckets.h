// Records spread over buckets whose ranges of keys follow each other, each to be sorted within the cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "strongbin/memtable/record_numbers.h"
#include "strongbin/memtable/sorted_run.h"

namespace strongbin {

// A samplesort of many records in the room of the run that they become. Ideas: P. Sanders and S. Winkel, "Super Scalar
// Sample Sort" (splitters from a sample, in a heap-shaped tree that is gone down without branches) and M. Axtmann and
// others, "In-place Parallel Super Scalar Samplesort" (a buffer of one block for each bucket; full blocks go to where
// the result will be). The sorts of the buckets are the library's, of 64-bit numbers that each stand for a record: bits
// that tell it from others, and its index.
//
// Calls come in this order: sample, Split, Add, EndAdding, then for each bucket, from the first on, Sort, ClearUpTo and
// the appending of sorted() to the run. Borrows the scratch and the run. Thread safety: one thread at a time. Lifetime:
// one sort. When full: Split, Add and EndAdding answer false if a bucket is, or would be, larger than
// kMaxBucketRecords. Cost: Add takes some four instructions for each of log2(buckets) levels and two moves; Sort four
// passes over the bucket, three of them in the cache, and the library's sort; ClearUpTo moves each block once or twice.
class RecordBuckets {
 public:
  static constexpr uint64_t kMaxBucketRecords = SortedRun::kChunkRecords;

  // Scratch bytes for `count` records, to be aligned to a page.
  static size_t ScratchBytes(uint64_t count);
  // Requires that the run is empty and has room for `count` records.
  RecordBuckets(void* scratch, uint64_t count, SortedRun* run);

  // To be filled with records of the whole range.
  std::span<RunRecord> sample() const { return {work_->sorted, uint64_t{bucket_count_} * kSampledForBucket}; }
  // Takes splitters from the first `count` of the sample, of which there must be one.
  [[nodiscard]] bool Split(uint64_t count);

  // Records with the same key bits all come into one bucket.
  [[nodiscard]] bool Add(const RunRecord& record) {
    pending_[pending_count_++] = record;
    return pending_count_ < kTogether || Distribute();
  }
  [[nodiscard]] bool EndAdding();

  uint32_t bucket_count() const { return bucket_count_; }
  // Puts the records of the bucket, in the order of their bits, to sorted(). False: no two have the same key bits.
  bool Sort(uint32_t bucket);
  // What Sort has sorted last.
  std::span<RunRecord> sorted() const { return {work_->sorted, sorted_count_}; }
  // From now on nothing of the buckets not yet sorted lies below this index of the run. Requires that so many records
  // have been sorted.
  void ClearUpTo(uint64_t end);

 private:
  // Blocks lie in the run, but for the one that is being filled. One place more than the run has is spare: while
  // records are appended, some of the place at the end is not theirs and not a whole block's either.
  using Block = uint32_t;
  using Place = uint32_t;
  static constexpr uint32_t kNone = ~uint32_t{0};

  static constexpr size_t kBlockBytes = 4096;
  static constexpr uint64_t kBlockRecords = kBlockBytes / sizeof(RunRecord);
  static constexpr uint64_t kMaxBucketBlocks = kMaxBucketRecords / kBlockRecords;
  // So that a bucket, its numbers and what becomes of it fit the second-level cache, as the buffers do.
  static constexpr uint64_t kTargetRecords = 8192;
  static constexpr uint32_t kMaxBuckets = 1024;
  static constexpr uint64_t kSampledForBucket = 8;
  // So many go down the tree side by side.
  static constexpr uint32_t kTogether = 8;

  struct Bucket {
    RunRecord* end;  // in its buffer
    uint32_t block_count;
    Block first, last;
  };
  struct Work {
    RunRecord sorted[kMaxBucketRecords];
    RunRecord spare[kBlockRecords];
    RunRecord tree[kMaxBuckets];  // node n has 2n and 2n+1 below it; the root is 1
    uint64_t prefix_tree[kMaxBuckets];
    Bucket buckets[kMaxBuckets];
    uint64_t numbers[kMaxBucketRecords];
  };
  // The records of a bucket: whole blocks, and what is in its buffer.
  struct Pieces {
    std::array<const RunRecord*, kMaxBucketBlocks + 1> starts;
    uint64_t record_count = 0;

    const RunRecord& At(uint64_t index) const { return starts[index / kBlockRecords][index % kBlockRecords]; }
    template <class Look>
    void ForEach(Look&& look) const {
      for (uint64_t begin = 0; begin < record_count; begin += kBlockRecords) {
        const RunRecord* const records = starts[begin / kBlockRecords];
        const uint64_t count = record_count - begin < kBlockRecords ? record_count - begin : kBlockRecords;
        for (uint64_t i = 0; i < count; ++i) look(records[i], begin + i);
      }
    }
  };

  static uint32_t LevelCount(uint64_t record_count);
  static uint64_t PlaceCount(uint64_t record_count) { return record_count / kBlockRecords + 1; }

  RunRecord* BufferOf(uint32_t bucket) const { return buffers_ + bucket * kBlockRecords; }
  RunRecord* At(Place place) const { return place == spare_ ? work_->spare : run_->Room(place * kBlockRecords); }
  [[nodiscard]] bool Distribute();
  [[nodiscard]] bool WriteBlock(uint32_t number);
  void ListPieces(uint32_t number, Pieces* pieces) const;
  void FreeBlocks(const Bucket& bucket);
  bool SortByNumbers(const Pieces& pieces, const Pieces& next, const RecordNumbers& number);

  const uint64_t record_count_;
  const uint32_t level_count_, bucket_count_;
  const Place spare_;  // behind those of the run
  SortedRun* const run_;
  RunRecord* const buffers_;
  Work* const work_;
  // Of blocks: the next one of the bucket, and where it lies. Of places: what lies there, and those with nothing, the
  // ones to be used first last; some may have been passed by what was appended.
  Block* const next_blocks_;
  Place* const places_;
  Block* const blocks_;
  Place* const free_places_;

  bool by_prefix_ = false;
  uint32_t pending_count_ = 0;
  std::array<RunRecord, kTogether> pending_{};
  uint32_t written_count_ = 0;  // blocks
  uint32_t free_count_ = 0;
  Place cleared_ = 0;
  uint64_t sorted_count_ = 0;
};

}  // namespace strongbin
