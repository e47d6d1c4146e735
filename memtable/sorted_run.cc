#include "strongbin/memtable/sorted_run.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

namespace strongbin {

RunMemory::~RunMemory() {
  space_->reserved_bytes.fetch_sub(chunks_.reserved_bytes(), std::memory_order_relaxed);
  if (space_->cold.load(std::memory_order_relaxed)) chunks_.Drop();
}

char* RunMemory::Add(size_t min_bytes) {
  const size_t before = chunks_.reserved_bytes();
  char* chunk = chunks_.Add(min_bytes);
  space_->reserved_bytes.fetch_add(chunks_.reserved_bytes() - before, std::memory_order_relaxed);
  return chunk;
}

RefPtr<SortedRun> SortedRun::Make(RunSpace* space, size_t skip_bytes, uint64_t expected_size) {
  return RefPtr<SortedRun>::Adopt(new (std::nothrow) SortedRun(space, skip_bytes, expected_size));
}

SortedRun::~SortedRun() { std::free(static_cast<void*>(chunks_)); }

bool SortedRun::ReserveAll() {
  while (room_ < expected_size_) {
    if (!AddChunk()) return false;
  }
  return true;
}

bool SortedRun::AppendAll(const RunRecord* records, uint64_t count) {
  if (chunk_count_ == 1 && records == chunks_[0]) {
    size_ = count;
    return true;
  }
  while (count > 0) {
    if (size_ == room_ && !AddChunk()) return false;
    const uint64_t piece = std::min({count, room_ - size_, kChunkRecords - size_ % kChunkRecords});
    std::copy_n(records, piece, Room(size_));
    size_ += piece;
    records += piece;
    count -= piece;
  }
  return true;
}

void SortedRun::Finish() {
  // A short run is searched as fast without.
  if (size_ <= kMinSampleStride * kMinSampleStride) return;
  const uint64_t stride = std::max(kMinSampleStride, std::bit_ceil((size_ + kMaxSamples - 1) / kMaxSamples));
  const uint64_t count = (size_ + stride - 1) / stride;
  auto* samples = reinterpret_cast<uint64_t*>(memory_.Add(count * sizeof(uint64_t)));
  if (samples == nullptr) return;
  for (uint64_t i = 0; i < count; ++i) samples[i] = At(i * stride).prefix;
  samples_ = {samples, count};
  sample_stride_ = stride;
}

SortedRun::Range SortedRun::RangeOf(uint64_t prefix) const {
  if (samples_.empty()) return {0, size_};
  const auto [less, not_greater] = std::equal_range(samples_.begin(), samples_.end(), prefix);
  const auto first = static_cast<uint64_t>(less - samples_.begin());
  const auto end = static_cast<uint64_t>(not_greater - samples_.begin());
  return {first == 0 ? 0 : (first - 1) * sample_stride_ + 1, std::min(size_, end * sample_stride_)};
}

bool SortedRun::AddChunk() {
  const uint64_t wanted = expected_size_ > room_ ? expected_size_ - room_ : 1;
  const size_t bytes = std::min<uint64_t>(wanted, kChunkRecords) * sizeof(RunRecord);
  void* grown = std::realloc(static_cast<void*>(chunks_), (chunk_count_ + 1) * sizeof(void*));
  if (grown == nullptr) return false;
  chunks_ = static_cast<RunRecord**>(grown);
  const size_t before = memory_.reserved_bytes();
  char* chunk = memory_.Add(bytes);
  if (chunk == nullptr) return false;
  chunks_[chunk_count_++] = reinterpret_cast<RunRecord*>(chunk);
  room_ = (chunk_count_ - 1) * kChunkRecords + (memory_.reserved_bytes() - before) / sizeof(RunRecord);
  return true;
}

}  // namespace strongbin
