#include "strongbin/memtable/record_buckets.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "strongbin/memtable/record_sort.h"

namespace strongbin {

uint32_t RecordBuckets::LevelCount(uint64_t record_count) {
  const uint64_t buckets = std::clamp<uint64_t>(std::bit_ceil(record_count / kTargetRecords), 2, kMaxBuckets);
  return static_cast<uint32_t>(std::bit_width(buckets)) - 1;
}

size_t RecordBuckets::ScratchBytes(uint64_t count) {
  return (kBlockBytes << LevelCount(count)) + sizeof(Work) + 4 * PlaceCount(count) * sizeof(Place);
}

RecordBuckets::RecordBuckets(void* scratch, uint64_t count, SortedRun* run)
    : record_count_(count),
      level_count_(LevelCount(count)),
      bucket_count_(uint32_t{1} << level_count_),
      spare_(static_cast<Place>(PlaceCount(count) - 1)),
      run_(run),
      buffers_(static_cast<RunRecord*>(scratch)),
      work_(reinterpret_cast<Work*>(BufferOf(bucket_count_))),
      next_blocks_(reinterpret_cast<Block*>(work_ + 1)),
      places_(next_blocks_ + PlaceCount(count)),
      blocks_(places_ + PlaceCount(count)),
      free_places_(blocks_ + PlaceCount(count)) {
  for (uint32_t bucket = 0; bucket < bucket_count_; ++bucket) {
    work_->buckets[bucket] = {.end = BufferOf(bucket), .block_count = 0, .first = kNone, .last = kNone};
  }
  std::fill_n(blocks_, PlaceCount(count), kNone);
}

bool RecordBuckets::Split(uint64_t count) {
  RunRecord* const sampled = work_->sorted;
  SortByBits(sampled, count);
  // As many of the sample as stand for half of what a bucket can hold: the sample may have missed some.
  const uint64_t most = std::max<uint64_t>(1, count * (kMaxBucketRecords / 2) / record_count_);
  by_prefix_ = true;
  for (uint64_t i = 0; i + most < count; ++i) {
    if (sampled[i].key_bits() == sampled[i + most].key_bits()) return false;
    by_prefix_ &= sampled[i].prefix != sampled[i + most].prefix;
  }
  for (uint32_t node = 1; node < bucket_count_; ++node) {
    const auto level = static_cast<uint32_t>(std::bit_width(node)) - 1;
    const uint64_t rank = 2 * (node - (uint64_t{1} << level)) + 1;  // of 2^(level + 1)
    work_->tree[node] = sampled[(count * rank) >> (level + 1)].WithHandle(0);
    work_->prefix_tree[node] = work_->tree[node].prefix;
  }
  return true;
}

bool RecordBuckets::EndAdding() {
  if (!Distribute()) return false;
  free_places_[free_count_++] = spare_;
  for (Place place = written_count_; place < spare_; ++place) free_places_[free_count_++] = place;
  return true;
}

// Puts what is pending into the buckets' buffers.
bool RecordBuckets::Distribute() {
  std::array<uint32_t, kTogether> nodes;
  nodes.fill(1);
  for (uint32_t level = 0; level < level_count_; ++level) {
    if (by_prefix_) {
      for (uint32_t i = 0; i < kTogether; ++i) {
        nodes[i] = 2 * nodes[i] + static_cast<uint32_t>(pending_[i].prefix >= work_->prefix_tree[nodes[i]]);
      }
    } else {
      for (uint32_t i = 0; i < kTogether; ++i) {
        nodes[i] = 2 * nodes[i] + static_cast<uint32_t>(pending_[i].bits() >= work_->tree[nodes[i]].bits());
      }
    }
  }
  for (uint32_t i = 0; i < pending_count_; ++i) {
    const uint32_t bucket = nodes[i] - bucket_count_;
    RunRecord*& end = work_->buckets[bucket].end;
    *end++ = pending_[i];
    if (reinterpret_cast<uintptr_t>(end) % kBlockBytes == 0 && !WriteBlock(bucket)) [[unlikely]]
      return false;
  }
  pending_count_ = 0;
  return true;
}

bool RecordBuckets::WriteBlock(uint32_t number) {
  Bucket& bucket = work_->buckets[number];
  // A block less than there may be: the buffer's records come on top.
  if (bucket.block_count + 1 == kMaxBucketBlocks) return false;
  const Block block = written_count_++;
  bucket.end = BufferOf(number);
  std::copy_n(bucket.end, kBlockRecords, At(block));
  places_[block] = blocks_[block] = block;
  if (bucket.block_count++ == 0) {
    bucket.first = block;
  } else {
    next_blocks_[bucket.last] = block;
  }
  bucket.last = block;
  return true;
}

void RecordBuckets::ListPieces(uint32_t number, Pieces* pieces) const {
  const Bucket& bucket = work_->buckets[number];
  Block block = bucket.first;
  for (uint32_t i = 0; i < bucket.block_count; ++i, block = next_blocks_[block]) {
    pieces->starts[i] = At(places_[block]);
  }
  pieces->starts[bucket.block_count] = BufferOf(number);
  pieces->record_count = bucket.block_count * kBlockRecords + static_cast<uint64_t>(bucket.end - BufferOf(number));
}

void RecordBuckets::FreeBlocks(const Bucket& bucket) {
  Block block = bucket.first;
  for (uint32_t i = 0; i < bucket.block_count; ++i, block = next_blocks_[block]) {
    const Place place = places_[block];
    blocks_[place] = kNone;
    if (place >= cleared_) free_places_[free_count_++] = place;
  }
}

void RecordBuckets::ClearUpTo(uint64_t end) {
  const Place end_place = static_cast<Place>(std::min<uint64_t>(spare_, (end + kBlockRecords - 1) / kBlockRecords));
  for (; cleared_ < end_place; ++cleared_) {
    const Block block = blocks_[cleared_];
    if (block == kNone) continue;
    // There is one: what is still to be sorted has room behind `end`, but for a part of a block.
    while (free_places_[free_count_ - 1] < end_place) --free_count_;
    assert(free_count_ > 0);
    const Place place = free_places_[--free_count_];
    std::copy_n(At(cleared_), kBlockRecords, At(place));
    places_[block] = place;
    blocks_[place] = block;
    blocks_[cleared_] = kNone;
  }
}

bool RecordBuckets::Sort(uint32_t bucket) {
  Pieces pieces, next;
  ListPieces(bucket, &pieces);
  if (bucket + 1 < bucket_count_) ListPieces(bucket + 1, &next);
  sorted_count_ = pieces.record_count;
  bool has_ties = true;
  RecordSurvey survey(pieces.At(0));
  pieces.ForEach([&](const RunRecord& record, uint64_t) { survey.Look(record); });
  if (survey.ascends()) {
    pieces.ForEach([&](const RunRecord& record, uint64_t i) { work_->sorted[i] = record; });
  } else {
    has_ties = SortByNumbers(pieces, next, RecordNumbers(survey, pieces.record_count));
  }
  FreeBlocks(work_->buckets[bucket]);
  return has_ties;
}

bool RecordBuckets::SortByNumbers(const Pieces& pieces, const Pieces& next, const RecordNumbers& number) {
  constexpr uint64_t kLineRecords = 64 / sizeof(RunRecord);
  pieces.ForEach([&](const RunRecord& record, uint64_t i) {
    // The next bucket is on its way while this one is sorted.
    if (i % kLineRecords == 0 && i < next.record_count) __builtin_prefetch(&next.At(i));
    work_->numbers[i] = number.Of(record, i);
  });
  SortNumbers(work_->numbers, pieces.record_count);
  // Where the first eight bytes ascend, all do.
  bool ascends = true;
  uint64_t before = 0;
  for (uint64_t i = 0; i < pieces.record_count; ++i) {
    const RunRecord record = pieces.At(number.IndexIn(work_->numbers[i]));
    ascends &= i == 0 || before < record.prefix;
    before = record.prefix;
    work_->sorted[i] = record;
  }
  if (!ascends) SortAgreeing(work_->sorted, work_->numbers, sorted_count_, number);
  return !ascends;
}

}  // namespace strongbin
