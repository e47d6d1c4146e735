#include "strongbin/memtable/record_buckets.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "strongbin/memtable/record_sort.h"

namespace strongbin {

namespace {
constexpr uint64_t kLineRecords = 64 / sizeof(RunRecord);
}

uint32_t RecordBuckets::LevelCount(uint64_t record_count) {
  const uint64_t buckets = std::clamp<uint64_t>(std::bit_ceil(record_count / kTargetRecords + 1), 2, kMaxBuckets);
  return static_cast<uint32_t>(std::bit_width(buckets)) - 1;
}

uint64_t RecordBuckets::BlockCount(uint64_t record_count) {
  return record_count / kBlockRecords + (uint64_t{1} << LevelCount(record_count));
}

size_t RecordBuckets::ScratchBytes(uint64_t count) {
  return BlockCount(count) * (kBlockBytes + sizeof(uint32_t)) + alignof(Work) + sizeof(Work);
}

RecordBuckets::RecordBuckets(void* scratch, uint64_t count)
    : record_count_(count),
      level_count_(LevelCount(count)),
      bucket_count_(uint32_t{1} << level_count_),
      blocks_(static_cast<RunRecord*>(scratch)),
      work_(reinterpret_cast<Work*>(blocks_ + BlockCount(count) * kBlockRecords)),
      next_blocks_(reinterpret_cast<uint32_t*>(work_ + 1)) {
  std::fill_n(work_->ends, bucket_count_, nullptr);
  std::fill_n(work_->block_counts, bucket_count_, 0);
}

bool RecordBuckets::Split(uint64_t count) {
  RunRecord* const sampled = work_->buffer;
  SortByBits(sampled, count);
  // Twice as many as could be borne: the sample may have missed some.
  const uint64_t most = count * (kMaxBucketRecords / 2) / record_count_;
  for (uint64_t i = 0; i + most < count; ++i) {
    if (sampled[i].key_bits() == sampled[i + most].key_bits()) return false;
  }
  for (uint32_t node = 1; node < bucket_count_; ++node) {
    const uint32_t level = static_cast<uint32_t>(std::bit_width(node)) - 1;
    const uint64_t rank = 2 * (node - (uint64_t{1} << level)) + 1;  // of 2^(level + 1)
    work_->tree[node] = sampled[count * rank >> (level + 1)].WithHandle(0);
    work_->prefix_tree[node] = work_->tree[node].prefix;
  }
  by_prefix_ = true;
  for (uint64_t i = 0; i + most < count; ++i) by_prefix_ &= sampled[i].prefix != sampled[i + most].prefix;
  return true;
}

bool RecordBuckets::Flush() {
  std::array<uint32_t, kTogether> nodes;
  nodes.fill(1);
  if (by_prefix_) {
    for (uint32_t level = 0; level < level_count_; ++level) {
      for (uint32_t i = 0; i < kTogether; ++i) {
        nodes[i] = 2 * nodes[i] + static_cast<uint32_t>(pending_[i].prefix >= work_->prefix_tree[nodes[i]]);
      }
    }
  } else {
    for (uint32_t level = 0; level < level_count_; ++level) {
      for (uint32_t i = 0; i < kTogether; ++i) {
        nodes[i] = 2 * nodes[i] + static_cast<uint32_t>(pending_[i].bits() >= work_->tree[nodes[i]].bits());
      }
    }
  }
  for (uint32_t i = 0; i < pending_count_; ++i) {
    const uint32_t bucket = nodes[i] - bucket_count_;
    RunRecord*& end = work_->ends[bucket];
    if (reinterpret_cast<uintptr_t>(end) % kBlockBytes == 0 && !AddBlock(bucket)) [[unlikely]]
      return false;
    *end++ = pending_[i];
  }
  pending_count_ = 0;
  return true;
}

bool RecordBuckets::AddBlock(uint32_t bucket) {
  if (work_->block_counts[bucket] == kMaxBucketBlocks) return false;
  const uint32_t block = used_block_count_++;
  assert(block < BlockCount(record_count_));
  if (work_->block_counts[bucket]++ == 0) {
    work_->first_blocks[bucket] = block;
  } else {
    next_blocks_[work_->last_blocks[bucket]] = block;
  }
  work_->last_blocks[bucket] = block;
  work_->ends[bucket] = blocks_ + block * kBlockRecords;
  return true;
}

uint64_t RecordBuckets::SizeOf(uint32_t bucket) const {
  if (work_->block_counts[bucket] == 0) return 0;
  const RunRecord* last = blocks_ + work_->last_blocks[bucket] * kBlockRecords;
  return (work_->block_counts[bucket] - 1) * kBlockRecords + static_cast<uint64_t>(work_->ends[bucket] - last);
}

bool RecordBuckets::SortBucket(uint32_t bucket, RunRecord* out) {
  const uint64_t count = SizeOf(bucket);
  if (count == 0) return false;
  std::array<const RunRecord*, kMaxBucketBlocks> blocks, next_blocks;
  const auto list_blocks = [&](uint32_t of, auto* list) {
    uint32_t block = work_->first_blocks[of];
    for (uint32_t i = 0; i < work_->block_counts[of]; ++i, block = next_blocks_[block]) {
      (*list)[i] = blocks_ + block * kBlockRecords;
    }
  };
  list_blocks(bucket, &blocks);
  // The next bucket is on its way while this one is sorted.
  const uint32_t next_count = bucket + 1 < bucket_count_ ? work_->block_counts[bucket + 1] : 0;
  if (next_count > 0) list_blocks(bucket + 1, &next_blocks);
  const auto for_each = [&](auto&& look_at) {
    for (uint64_t begin = 0; begin < count; begin += kBlockRecords) {
      const RunRecord* const records = blocks[begin / kBlockRecords];
      const uint64_t end = std::min(kBlockRecords, count - begin);
      for (uint64_t i = 0; i < end; ++i) look_at(records[i], begin + i);
    }
  };

  const RunRecord first = *blocks[0];
  uint64_t prefix_bits = 0, rest_bits = 0;  // in which records differ
  bool ascends = true;
  RunRecord::Bits before = 0;
  for_each([&](const RunRecord& record, uint64_t) {
    prefix_bits |= record.prefix ^ first.prefix;
    rest_bits |= record.rest ^ first.rest;
    ascends &= before <= record.bits();
    before = record.bits();
  });
  if (ascends) {
    for_each([&](const RunRecord& record, uint64_t i) { out[i] = record; });
    return true;
  }
  const int common_bits = prefix_bits != 0 ? std::countl_zero(prefix_bits) : 64 + std::countl_zero(rest_bits);
  const auto index_bits = static_cast<uint32_t>(std::bit_width(count - 1));
  const uint64_t index_mask = (uint64_t{1} << index_bits) - 1;
  for_each([&](const RunRecord& record, uint64_t i) {
    if (i % kLineRecords == 0 && i / kBlockRecords < next_count) {
      __builtin_prefetch(next_blocks[i / kBlockRecords] + i % kBlockRecords);
    }
    work_->numbers[i] = (static_cast<uint64_t>((record.bits() << common_bits) >> 64) & ~index_mask) | i;
  });
  SortNumbers(work_->numbers, count);
  // Where the first eight bytes ascend, all does.
  bool ties = false;
  uint64_t before_prefix = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t index = work_->numbers[i] & index_mask;
    const RunRecord record = blocks[index / kBlockRecords][index % kBlockRecords];
    ties |= i > 0 && record.prefix <= before_prefix;
    before_prefix = record.prefix;
    out[i] = record;
  }
  if (ties) SettleTies(count, index_bits, out);
  return ties;
}

// Records whose numbers have the same bits of them stand in the order in which they came.
bool RecordBuckets::SettleTies(uint64_t count, uint32_t index_bits, RunRecord* out) {
  const auto group_end = [&](uint64_t begin) {
    uint64_t end = begin + 1;
    while (end < count && work_->numbers[end] >> index_bits == work_->numbers[begin] >> index_bits) ++end;
    return end;
  };
  uint64_t wrong_count = 0;
  for (uint64_t i = 1; i < count; ++i) wrong_count += out[i].bits() < out[i - 1].bits() ? 1u : 0u;
  if (wrong_count == 0) return true;
  if (wrong_count > count / 16) {
    SortByBits(out, count);
    return true;
  }
  for (uint64_t begin = 0, end; begin < count; begin = end) {
    end = group_end(begin);
    if (end - begin > 1) SortByBits(out + begin, end - begin);
  }
  return true;
}

}  // namespace strongbin
