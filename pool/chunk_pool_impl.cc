#include "strongbin/pool/chunk_pool_impl.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "strongbin/pool/poison.h"
#include "strongbin/stats/test_points.h"

namespace strongbin {
namespace {

std::unique_ptr<ChunkSource> MakeSource(const ChunkPoolOptions& options) {
  if (options.custom_source != nullptr) return nullptr;
  if (options.source == ChunkSourceKind::kMalloc) return std::make_unique<MallocChunkSource>();
  return std::make_unique<MmapChunkSource>();
}

}  // namespace

ChunkPool::Impl::Impl(ChunkPool* pool, const ChunkPoolOptions& options)
    : pool_(pool),
      cap_bytes_(options.cap_bytes),
      huge_pages_(options.cold_start.huge_pages),
      populate_(options.cold_start.populate),
      ahead_(options.cold_start.ahead),
      wipes_(options.wipe_on_return),
      own_source_(MakeSource(options)),
      source_(options.custom_source != nullptr ? options.custom_source : own_source_.get()),
      on_event_(options.on_event),
      clock_ns_(options.clock_ns),
      books_(options.cap_bytes, options.name),
      fork_guard_(&mutex_, &RepairAfterFork, this) {
  if (options.decay_ms > 0) SetDecayMs(options.decay_ms);
}

ChunkPool::Impl::~Impl() {
  if (knows_timer_.load(std::memory_order_relaxed)) PoolTimer::Get().Forget(this);
  assert(books_.lent_bytes() == 0 && "a chunk is still on loan");
  while (first_slab_ != nullptr) {
    Slab* slab = first_slab_;
    UnlinkSlab(slab);
    // What a fork left half unmapped is nobody's any more.
    slab->unmapping() ? Slab::Destroy(slab) : UnmapSlab(slab);
  }
}

Chunk ChunkPool::Impl::TakeIdle(size_t slot, ChunkKind kind) {
  if (slot == kOversizeSlot) return {};
  Chunk chunk;
  {
    const std::lock_guard lock(mutex_);
    ChunkRecord* record = bins_[slot].newest();
    if (record == nullptr) return {};
    assert(record->state == ChunkState::kIdle);
    bins_[slot].Remove(record);
    record->slab->idle_count--;
    books_.Hit(slot, kind, record->slab->chunk_bytes());
    chunk = Lend(record);
  }
  UnpoisonMemory(chunk.data, chunk.bytes);
  return chunk;
}

Chunk ChunkPool::Impl::CarveFree(size_t slot, ChunkKind kind) {
  if (slot == kOversizeSlot) return {};
  Chunk chunk;
  bool was_resident = false;
  bool wish = false;
  {
    const std::lock_guard lock(mutex_);
    ChunkRecord* record = Carve(slot, kind, &was_resident);
    if (record == nullptr) return {};
    chunk = Lend(record);
    wish = WishAhead(slot);
  }
  UnpoisonMemory(chunk.data, chunk.bytes);
  if (!was_resident) Populate(chunk);
  if (wish) AskForThread();
  return chunk;
}

void ChunkPool::Impl::SetCapBytes(size_t cap_bytes) {
  GiveBackQueue queue;
  Lock lock(mutex_);
  cap_bytes_.store(cap_bytes, std::memory_order_relaxed);
  books_.SetCap(cap_bytes);
  while (books_.idle_bytes() > cap_bytes) {
    ChunkRecord* record = LongestIdle(/*except_slot=*/kOversizeSlot, /*before_tick=*/UINT64_MAX);
    books_.Evicted(record->slab->slot(), record->slab->chunk_bytes());
    FreeIdle(record);
    Enqueue(record->slab, &queue);
  }
  GiveBackAll(&queue, &lock);
}

Chunk ChunkPool::Impl::Lend(ChunkRecord* record) {
  record->state = ChunkState::kLent;
  record->tick = ++tick_ & ChunkRecord::kTickMask;
  return {record->slab->DataOf(record), record->slab->chunk_bytes(), record};
}

ChunkRecord* ChunkPool::Impl::Carve(size_t slot, ChunkKind kind, bool* was_resident) {
  Slab* slab = roomy_[slot].first;
  if (slab == nullptr) return nullptr;
  ChunkRecord* record = slab->Carve(was_resident);
  assert(record != nullptr);
  UpdateRoom(slab);
  books_.Miss(slot, kind, slab->chunk_bytes(), *was_resident);
  return record;
}

size_t ChunkPool::Impl::TakeBack(std::span<const Chunk> chunks, Purpose purpose) {
  GiveBackQueue queue;
  size_t refused_bytes = 0;
  while (!chunks.empty()) {
    const auto piece = chunks.first(std::min(chunks.size(), kChunksPerLock));
    chunks = chunks.subspan(piece.size());
    // Before the lock: once it is let go, the chunk may be somebody else's.
    for (const Chunk& chunk : piece) {
      if (wipes_) explicit_bzero(chunk.data, chunk.bytes);
      PoisonMemory(chunk.data, chunk.bytes);
    }
    const uint64_t now_ns = decays_.load(std::memory_order_relaxed) ? NowNs() : 0;
    YieldPoint(YieldAt::k_before_take_back);
    Lock lock(mutex_);
    if (now_ns > 0) decay_marks_.Note(now_ns, tick_);
    for (const Chunk& chunk : piece) {
      ChunkRecord* record = chunk.record;
      Slab* slab = record->slab;
      const size_t slot = slab->slot();
      assert(record->state == ChunkState::kLent && "a chunk came back twice");
      if (purpose == Purpose::kKeep) {
        books_.BroughtBack(slab->slot());
        KeepOrFree(record, &queue, &refused_bytes);
      } else {
        books_.Dropped(slab->slot(), slab->chunk_bytes());
        FreeLent(record);
        Enqueue(slab, &queue);
      }
      if (books_.lent_bytes(slot) == 0) EnqueueUnused(slot, &queue);
    }
    if (chunks.empty()) GiveBackAll(&queue, &lock);
  }
  return refused_bytes;
}

void ChunkPool::Impl::KeepOrFree(ChunkRecord* record, GiveBackQueue* queue, size_t* refused_bytes) {
  Slab* slab = record->slab;
  const size_t slot = slab->slot();
  const size_t bytes = slab->chunk_bytes();
  if (slot != kOversizeSlot && MakeRoom(record, queue)) {
    record->state = ChunkState::kIdle;
    record->tick = ++tick_ & ChunkRecord::kTickMask;
    bins_[slot].Push(record);
    slab->idle_count++;
    books_.Kept(slot, bytes);
    return;
  }
  if (slot != kOversizeSlot) {
    books_.AdmissionDropped(slot, bytes);
    *refused_bytes += bytes;
  }
  FreeLent(record);
  Enqueue(slab, queue);
}

// Chunks that have been idle since before the incoming one was lent give way to it: in all that time nobody asked for
// them. A mix of classes that is in use, however large, does not drive itself out that way, since its chunks are
// younger.
bool ChunkPool::Impl::MakeRoom(ChunkRecord* incoming, GiveBackQueue* queue) {
  const size_t slot = incoming->slab->slot();
  const size_t bytes = incoming->slab->chunk_bytes();
  const size_t cap = cap_bytes();
  if (bytes > cap) return false;
  if (books_.idle_bytes() <= cap - bytes || Mutated(Mutation::k_cap_not_kept)) return true;

  const uint64_t excess_bytes = books_.idle_bytes() - (cap - bytes);
  uint64_t found_bytes = 0;
  for (size_t other = 0; other < kSizeClassCount && found_bytes < excess_bytes; other++) {
    if (other == slot) continue;
    for (ChunkRecord* record = bins_[other].oldest();
         record != nullptr && record->tick < incoming->tick && found_bytes < excess_bytes; record = record->newer) {
      found_bytes += ClassBytes(other);
    }
  }
  if (found_bytes < excess_bytes) return false;

  while (books_.idle_bytes() > cap - bytes) {
    ChunkRecord* record = LongestIdle(slot, incoming->tick);
    books_.Evicted(record->slab->slot(), record->slab->chunk_bytes());
    FreeIdle(record);
    Enqueue(record->slab, queue);
  }
  return true;
}

ChunkRecord* ChunkPool::Impl::LongestIdle(size_t except_slot, uint64_t before_tick) {
  ChunkRecord* longest = nullptr;
  for (size_t slot = 0; slot < kSizeClassCount; slot++) {
    ChunkRecord* oldest = bins_[slot].oldest();
    if (slot == except_slot || oldest == nullptr || oldest->tick >= before_tick) continue;
    if (longest == nullptr || oldest->tick < longest->tick) longest = oldest;
  }
  return longest;
}

void ChunkPool::Impl::FreeLent(ChunkRecord* record) {
  Slab* slab = record->slab;
  slab->Free(record);
  books_.FreedFromLent(slab->slot(), slab->chunk_bytes());
  if (slab->room != Slab::Room::kResident) UpdateRoom(slab);
}

void ChunkPool::Impl::FreeIdle(ChunkRecord* record) {
  Slab* slab = record->slab;
  bins_[slab->slot()].Remove(record);
  slab->idle_count--;
  slab->Free(record);
  books_.FreedFromIdle(slab->slot(), slab->chunk_bytes());
  if (slab->room != Slab::Room::kResident) UpdateRoom(slab);
}

size_t ChunkPool::Impl::Sweep(SweepReason reason) {
  size_t returned_bytes = 0;
  size_t looked_at = 0;
  Lock lock(mutex_);
  sweep_count_++;
  if (reason == SweepReason::kPressure) under_pressure_.set();
  // Each slab that is looked at goes to the end of the list, so that all of them come by, however the list changes
  // while the mutex is not held: other sweeps take their share, new slabs come last.
  for (size_t left = slab_count_; left > 0 && first_slab_ != nullptr; left--) {
    if (++looked_at % kSlabsPerLock == 0) {
      lock.unlock();
      lock.lock();
      if (first_slab_ == nullptr) break;
    }
    Slab* slab = first_slab_;
    UnlinkSlab(slab);
    LinkSlab(slab);
    slab->ForEachIdle([&](ChunkRecord* record) {
      const size_t slot = slab->slot();
      if (reason == SweepReason::kRefused) {
        books_.Evicted(slot, slab->chunk_bytes());
      } else {
        books_.Dropped(slot, slab->chunk_bytes());
      }
      FreeIdle(record);
    });
    if (slab->room == Slab::Room::kResident || slab->AllFree()) returned_bytes += GiveBackSlab(slab, &lock);
  }
  return returned_bytes;
}

size_t ChunkPool::Impl::DropUnused() {
  const size_t bytes = Sweep(SweepReason::kUnused);
  WithBooks([&](PoolBooks& books) { books.UnusedDropped(bytes); });
  return bytes;
}

size_t ChunkPool::Impl::RelievePressure() {
  WithBooks([](PoolBooks& books) { books.PressureCalled(); });
  // Relaxed: the flag only keeps a second sweep away; what a sweep touches is guarded by the mutex.
  if (pressure_running_.exchange(true, std::memory_order_relaxed)) return 0;
  const size_t bytes = Mutated(Mutation::k_idle_chunks_left_behind_by_pressure) ? 0 : Sweep(SweepReason::kPressure);
  if (bytes > 0) {
    WithBooks([&](PoolBooks& books) { books.PressureDropped(bytes); });
    Tell(PoolEvent::Type::kPressureDrop, bytes);
  }
  pressure_running_.store(false, std::memory_order_relaxed);
  return bytes;
}

bool ChunkPool::Impl::TellRefused(size_t bytes) {
  // A callback that asks for memory itself and is refused gets the empty chunk, not another call of itself.
  thread_local bool telling = false;
  if (telling || !on_event_) return false;
  telling = true;
  Tell(PoolEvent::Type::kRefused, bytes);
  telling = false;
  return true;
}

void ChunkPool::Impl::Tell(PoolEvent::Type type, size_t bytes) const noexcept {
  if (on_event_) on_event_({type, bytes});
}

void ChunkPool::Impl::RepairAfterFork(void* impl) {
  auto* self = static_cast<Impl*>(impl);
  self->pressure_running_.store(false, std::memory_order_relaxed);
  self->wished_ahead_.reset();  // they were told to the parent's thread
  for (Slab* slab = self->first_slab_; slab != nullptr; slab = slab->next_slab) {
    slab->ForgetGiveBackAfterFork();
    self->UpdateRoom(slab);
  }
}

}  // namespace strongbin
