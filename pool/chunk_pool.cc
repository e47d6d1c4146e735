#include "strongbin/pool/chunk_pool.h"

#include "strongbin/pool/chunk_pool_impl.h"
#include "strongbin/pool/stack_frame.h"
#include "strongbin/stats/stats_page.h"
#include "strongbin/stats/test_points.h"

namespace strongbin {
namespace {

// Calls visit(pool, chunks) for each stretch of chunks of one pool; empty chunks belong to none.
template <class Visit>
void ForEachHome(std::span<const Chunk> chunks, Visit&& visit) {
  for (size_t begin = 0; begin < chunks.size();) {
    size_t end = begin + 1;
    if (chunks[begin]) {
      ChunkPool* home = chunks[begin].record->slab->pool();
      while (end < chunks.size() && chunks[end] && chunks[end].record->slab->pool() == home) end++;
      visit(home, chunks.subspan(begin, end - begin));
    }
    begin = end;
  }
}

}  // namespace

ChunkPool::ChunkPool(const ChunkPoolOptions& options) {
  stats_internal::OpenPageIfAsked();
  impl_ = std::make_unique<Impl>(this, options);
  pressure_ = PressureHook::Process().Add([this] { return impl_->RelievePressure(); }, PressureHook::Turn::kPools);
}

ChunkPool::~ChunkPool() = default;

ChunkPool& ChunkPool::Default() {
  // Never destroyed: a table in a static object or of a detached thread may outlive every destructor of the process.
  static ChunkPool* const pool = new ChunkPool({.name = "default"});
  return *pool;
}

Chunk ChunkPool::Fresh(size_t slot, size_t bytes, ChunkKind kind) {
  Chunk chunk = impl_->CarveFree(slot, kind);
  if (!chunk) chunk = impl_->MapAndCarve(slot, bytes, kind);
  KeepStackFrame();
  return chunk;
}

Chunk ChunkPool::TakeOrMake(size_t slot, size_t bytes, ChunkKind kind) {
  if (const Chunk chunk = impl_->TakeIdle(slot, kind)) return chunk;
  return Fresh(slot, bytes, kind);
}

Chunk ChunkPool::Acquire(size_t min_bytes, ChunkKind kind) {
  const bool mutated = min_bytes > 0 && Mutated(Mutation::k_off_by_one_at_class_boundary);
  const size_t slot = ClassFor(mutated ? min_bytes - 1 : min_bytes);
  const size_t bytes = slot == kOversizeSlot ? min_bytes : ClassBytes(slot);
  if (const Chunk chunk = TakeOrMake(slot, bytes, kind)) [[likely]]
    return chunk;

  if (impl_->Sweep(Impl::SweepReason::kRefused) > 0) {
    if (const Chunk chunk = TakeOrMake(slot, bytes, kind)) return chunk;
  }
  if (impl_->TellRefused(bytes)) {
    if (const Chunk chunk = TakeOrMake(slot, bytes, kind)) return chunk;
  }
  impl_->WithBooks([](PoolBooks& books) { books.Refused(); });
  return {};
}

void ChunkPool::Release(std::span<const Chunk> chunks) {
  ForEachHome(chunks, [](ChunkPool* home, std::span<const Chunk> own) {
    const size_t dropped_bytes = home->impl_->TakeBack(own, Impl::Purpose::kKeep);
    if (dropped_bytes > 0) home->impl_->Tell(PoolEvent::Type::kAdmissionDrop, dropped_bytes);
  });
}

void ChunkPool::Drop(std::span<const Chunk> chunks) {
  ForEachHome(chunks,
              [](ChunkPool* home, std::span<const Chunk> own) { home->impl_->TakeBack(own, Impl::Purpose::kDrop); });
}

size_t ChunkPool::OnMemoryPressure() { return impl_->RelievePressure(); }

size_t ChunkPool::DropIdle() { return impl_->DropUnused(); }
size_t ChunkPool::DropDecayed() { return impl_->DropDecayed(); }
size_t ChunkPool::MakeAhead() { return impl_->MakeAhead(); }
void ChunkPool::AddUser() { impl_->AddUser(); }
void ChunkPool::RemoveUser(PoolAtEnd at_end) { impl_->RemoveUser(at_end); }

void ChunkPool::SetCapBytes(size_t cap_bytes) { impl_->SetCapBytes(cap_bytes); }
void ChunkPool::SetColdStart(const ColdStart& cold_start) { impl_->SetColdStart(cold_start); }
bool ChunkPool::SetDecayMs(uint64_t decay_ms) { return impl_->SetDecayMs(decay_ms); }

PoolStats ChunkPool::Stats() const {
  return impl_->WithBooks([](PoolBooks& books) {
    books.FollowPage();
    return books.stats();
  });
}

size_t ChunkPool::cap_bytes() const { return impl_->cap_bytes(); }

const ChunkPool* ChunkPool::HomeOf(const Chunk& chunk) { return chunk ? chunk.record->slab->pool() : nullptr; }

}  // namespace strongbin
