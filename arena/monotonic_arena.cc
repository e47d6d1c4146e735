#include "strongbin/arena/monotonic_arena.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/stats/test_points.h"

namespace strongbin {
namespace {

// No process can have more, so there is no point in trying.
constexpr size_t kAddressSpaceBytes = size_t{1} << 47;

// What arenas without a pool use: a pool that keeps nothing, so that there is one way to get and give back memory.
ChunkPool& UnpooledSource() {
  static ChunkPool* const pool = [] {
    ChunkPoolOptions options;
    options.cap_bytes = 0;
    return new ChunkPool(options);
  }();
  return *pool;
}

size_t GapBefore(const char* ptr, size_t alignment) { return (0 - reinterpret_cast<uintptr_t>(ptr)) & (alignment - 1); }

}  // namespace

MonotonicArena::MonotonicArena(const MonotonicArenaOptions& options)
    : pool_(options.pool != nullptr ? options.pool : &UnpooledSource()),
      kind_(options.kind),
      min_buffer_bytes_(ClassBytes(ClassFor(std::min(options.min_buffer_bytes, kMaxChunkBytes)))),
      initial_buffer_count_(std::max<size_t>(options.initial_buffer_count, 1)) {}

MonotonicArena::~MonotonicArena() { Release(); }

size_t MonotonicArena::NextBufferBytes(size_t reserved_bytes) const {
  return std::clamp(std::bit_floor(reserved_bytes / kGrowthPart), min_buffer_bytes_, kMaxChunkBytes);
}

char* MonotonicArena::AllocateSlow(size_t bytes, size_t alignment) {
  assert(std::has_single_bit(alignment) && alignment <= kMaxChunkBytes);
  const size_t slack_bytes = alignment > kChunkAlignment ? alignment - kChunkAlignment : 0;
  if (bytes > SIZE_MAX - slack_bytes) return nullptr;
  const size_t need_bytes = bytes + slack_bytes;

  const bool kept = next_index_ < buffers_.size();
  const size_t next_bytes = kept ? buffers_[next_index_].bytes : NextBufferBytes(reserved_bytes());
  const size_t largest_bytes = next_index_ < promised_end_ ? next_bytes : next_bytes / kLargestPart;
  if (need_bytes > largest_bytes) return AllocateAlone(bytes, alignment, need_bytes);
  if (!kept && !AddBuffers(buffers_.size() == 0 ? initial_buffer_count_ : 1, next_bytes)) return nullptr;

  buffers_examined_.Add(1);
  abandoned_bytes_.Add(left_bytes_);
  EnterNextBuffer();
  return TryBump(bytes, alignment);
}

char* MonotonicArena::AllocateAlone(size_t bytes, size_t alignment, size_t need_bytes) {
  if (!alone_.ReserveMore(1)) return nullptr;
  const Chunk chunk = pool_->Acquire(need_bytes, kind_);
  if (!chunk) return nullptr;
  alone_.Push(chunk);
  const size_t gap = GapBefore(chunk.data, alignment);
  buffers_examined_.Add(1);
  abandoned_bytes_.Add(chunk.bytes - bytes - gap);
  BookReserved(chunk.bytes);
  return chunk.data + gap;
}

bool MonotonicArena::AddBuffers(size_t count, size_t buffer_bytes) {
  if (!buffers_.ReserveMore(count)) return false;
  const size_t old_size = buffers_.size();
  while (buffers_.size() < old_size + count) {
    const Chunk chunk = pool_->Acquire(buffer_bytes, kind_);
    if (!chunk) {
      pool_->TakeBack(buffers_.From(old_size), ChunkFate::kReuse);
      buffers_.Truncate(old_size);
      return false;
    }
    buffers_.Push(chunk);
  }
  size_t added_bytes = 0;
  for (const Chunk& chunk : buffers_.From(old_size)) added_bytes += chunk.bytes;
  unreached_bytes_ += added_bytes;
  BookReserved(added_bytes);
  return true;
}

bool MonotonicArena::Reserve(size_t total_bytes, size_t largest_bytes) {
  if (total_bytes > kAddressSpaceBytes) return false;
  largest_bytes = std::min(largest_bytes, total_bytes);
  // Before a piece fails to fit, a buffer has taken at least this much.
  const auto sure_bytes = [&](size_t room) { return room < largest_bytes ? 0 : room - largest_bytes + 1; };
  if (total_bytes <= left_bytes_) return true;
  size_t remaining_bytes = total_bytes - sure_bytes(left_bytes_);

  // The order of buffers that the cursor has not reached is free: those that take any piece come first.
  std::span<Chunk> unreached = buffers_.From(next_index_);
  const size_t usable_count =
      static_cast<size_t>(std::partition(unreached.begin(), unreached.end(),
                                         [&](const Chunk& chunk) { return chunk.bytes >= largest_bytes; }) -
                          unreached.begin());
  size_t end = next_index_;
  for (const Chunk& chunk : unreached.first(usable_count)) {
    end++;
    if (chunk.bytes >= remaining_bytes) {
      promised_end_ = std::max(promised_end_, end);
      return true;
    }
    remaining_bytes -= sure_bytes(chunk.bytes);
  }

  ChunkList more;
  // First, so that what is far too much is refused before many chunks have been taken for it.
  if (!buffers_.ReserveMore(remaining_bytes / kMaxChunkBytes + 1)) return false;
  size_t more_bytes = 0;
  while (remaining_bytes > 0) {
    size_t buffer_bytes = std::max(NextBufferBytes(reserved_bytes() + more_bytes),
                                   std::min(largest_bytes, kMaxChunkBytes / kLargestPart) * kLargestPart);
    if (largest_bytes > kMaxChunkBytes / 2 || remaining_bytes < buffer_bytes) buffer_bytes = remaining_bytes;
    const Chunk chunk = more.ReserveMore(1) ? pool_->Acquire(buffer_bytes, kind_) : Chunk{};
    if (!chunk) {
      pool_->TakeBack(more.From(0), ChunkFate::kReuse);
      return false;
    }
    more.Push(chunk);
    more_bytes += chunk.bytes;
    remaining_bytes -= chunk.bytes >= remaining_bytes ? remaining_bytes : sure_bytes(chunk.bytes);
  }
  if (!buffers_.ReserveMore(more.size())) {
    pool_->TakeBack(more.From(0), ChunkFate::kReuse);
    return false;
  }
  const size_t old_size = buffers_.size();
  for (const Chunk& chunk : more.From(0)) buffers_.Push(chunk);
  const auto added = buffers_.From(end);
  std::rotate(added.begin(), added.begin() + static_cast<ptrdiff_t>(old_size - end), added.end());
  promised_end_ = std::max(promised_end_, end + more.size());
  unreached_bytes_ += more_bytes;
  BookReserved(more_bytes);
  return true;
}

void MonotonicArena::EnterNextBuffer() {
  const Chunk& chunk = buffers_[next_index_++];
  next_ = chunk.data;
  left_bytes_ = chunk.bytes;
  unreached_bytes_ -= chunk.bytes;
}

void MonotonicArena::BookReserved(size_t bytes) {
  reserved_bytes_.Add(bytes);
  peak_bytes_.RaiseTo(reserved_bytes_.Load());
}

void MonotonicArena::Rewind() {
  abandoned_bytes_.Set(0);
  next_ = nullptr;
  left_bytes_ = 0;
  next_index_ = 0;
  promised_end_ = 0;
  unreached_bytes_ = reserved_bytes();
}

void MonotonicArena::Reset() {
  ChunkList gone;
  gone.Swap(&alone_);
  for (const Chunk& chunk : gone.From(0)) reserved_bytes_.Sub(chunk.bytes);
  Rewind();
  if (buffers_.size() > 0) EnterNextBuffer();
  pool_->TakeBack(gone.From(0), ChunkFate::kReuse);
}

void MonotonicArena::Empty(ChunkFate fate) {
  ChunkList gone;
  ChunkList gone_alone;
  gone.Swap(&buffers_);
  gone_alone.Swap(&alone_);
  reserved_bytes_.Set(0);
  Rewind();
  pool_->TakeBack(gone.From(0), fate);
  pool_->TakeBack(gone_alone.From(0), fate);
  if (Mutated(Mutation::k_chunk_returned_twice)) pool_->TakeBack(gone.From(0), fate);
}

void MonotonicArena::Release() { Empty(ChunkFate::kReuse); }
void MonotonicArena::Drop() { Empty(ChunkFate::kDrop); }

size_t MonotonicArena::used_bytes() const {
  return reserved_bytes() - left_bytes_ - abandoned_bytes() - unreached_bytes_;
}

size_t MonotonicArena::reserved_bytes() const { return reserved_bytes_.Load(); }
size_t MonotonicArena::peak_bytes() const { return peak_bytes_.Load(); }
size_t MonotonicArena::abandoned_bytes() const { return abandoned_bytes_.Load(); }
uint64_t MonotonicArena::buffers_examined() const { return buffers_examined_.Load(); }
size_t MonotonicArena::buffer_count() const { return buffers_.size() + alone_.size(); }

}  // namespace strongbin
