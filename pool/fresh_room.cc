// The part of a pool that makes fresh room: slabs when they are asked for, and slabs ahead of that.
#include <algorithm>

#include "strongbin/pool/chunk_pool_impl.h"
#include "strongbin/pool/poison.h"
#include "strongbin/stats/thread_cpu.h"

namespace strongbin {
namespace {

// Huge pages are for chunks that fill a good part of one, and for classes that fill a few already: a lookup index of
// millions of keys is made of 32 KiB chunks, and the translation of its addresses would cost more than its lines.
constexpr size_t kMinHugeChunkBytes = size_t{256} << 10;
// Below, a system call costs about what it saves.
constexpr size_t kMinPopulateBytes = size_t{16} << 10;
// Where most is made ahead, nobody waits for more at once: a put may need up to four chunks, and a page takes up to 4
// us.
constexpr size_t kMaxPopulateBytesOfUser = size_t{256} << 10;

// A class with less room than this gets more, up to twice as much. At first that is another slab once both of the
// largest chunks are taken; the more is lent, the faster it may be going, and the dearer it is to wake the thread for
// each slab.
size_t ReadyBytes(uint64_t lent_bytes) {
  constexpr uint64_t kLentForReady = 32;
  return std::clamp<uint64_t>(lent_bytes / kLentForReady, kSlabBytes / 2, 2 * kSlabBytes);
}

}  // namespace

// Under pressure no more is taken than is used: a huge page would be 2 MiB, made within a single put.
Slab::Pages ChunkPool::Impl::ChoosePages(size_t slot, size_t chunk_bytes, MadeBy made_by) {
  if (under_pressure_[slot]) {
    under_pressure_.reset(slot);
    return Slab::Pages::kSmallAtFirstUse;
  }
  if (!huge_pages_.load(std::memory_order_relaxed)) return Slab::Pages::kSmall;
  const bool fills_some = chunk_bytes >= kMinHugeChunkBytes || books_.lent_bytes(slot) >= kGreatUseBytes;
  if (!fills_some) return Slab::Pages::kSmall;
  // Small pages are another choice only where they are populated. Even where huge ones are cheap, one may take 5 ms:
  // too much for a put, so they are for what is made ahead.
  if (!populate_.load(std::memory_order_relaxed) || !ahead_.load(std::memory_order_relaxed)) return Slab::Pages::kHuge;
  const bool huge = made_by == MadeBy::kPoolsThread && page_choice_.WantsHuge();
  return huge ? Slab::Pages::kHuge : Slab::Pages::kSmall;
}

Slab* ChunkPool::Impl::MapSlab(size_t slot, size_t chunk_bytes, Slab::Pages pages) {
  const bool carve = source_->carves_slabs() && slot != kOversizeSlot;
  const size_t chunk_count = carve ? kSlabBytes / chunk_bytes : 1;
  const size_t alignment = carve ? kSlabBytes : kChunkAlignment;
  char* base = static_cast<char*>(source_->Map(chunk_bytes * chunk_count, alignment, pages == Slab::Pages::kHuge));
  if (base == nullptr) return nullptr;
  Slab* slab = Slab::Create(pool_, base, slot, chunk_bytes, chunk_count);
  if (slab == nullptr) {
    source_->Unmap(base, chunk_bytes * chunk_count);
    return nullptr;
  }
  slab->pages = pages;
  PoisonMemory(base, slab->bytes());
  return slab;
}

void ChunkPool::Impl::UnmapSlab(Slab* slab) {
  UnpoisonMemory(slab->base(), slab->bytes());
  source_->Unmap(slab->base(), slab->bytes());
  Slab::Destroy(slab);
}

Chunk ChunkPool::Impl::MapAndCarve(size_t slot, size_t bytes, ChunkKind kind) {
  Slab::Pages pages;
  {
    const std::lock_guard lock(mutex_);
    pages = ChoosePages(slot, bytes, MadeBy::kUser);
  }
  Slab* slab = MapSlab(slot, bytes, pages);
  if (slab == nullptr) return {};
  Chunk chunk;
  bool wish = false;
  {
    const std::lock_guard lock(mutex_);
    LinkSlab(slab);
    bool was_resident = false;
    ChunkRecord* record = slab->Carve(&was_resident);
    UpdateRoom(slab);
    books_.Miss(slot, kind, bytes, was_resident);
    chunk = Lend(record);
    wish = pages != Slab::Pages::kSmallAtFirstUse && WishAhead(slot);
  }
  UnpoisonMemory(chunk.data, chunk.bytes);
  Populate(chunk);
  if (wish) AskForThread();
  return chunk;
}

void ChunkPool::Impl::Populate(const Chunk& chunk) {
  if (!populate_.load(std::memory_order_relaxed) || chunk.bytes < kMinPopulateBytes) return;
  if (chunk.record->slab->pages != Slab::Pages::kSmall) return;
  const size_t most_bytes = ahead_.load(std::memory_order_relaxed) ? kMaxPopulateBytesOfUser : chunk.bytes;
  source_->Populate(chunk.data, std::min(chunk.bytes, most_bytes));
}

bool ChunkPool::Impl::WishAhead(size_t slot) {
  if (slot == kOversizeSlot || !ahead_.load(std::memory_order_relaxed) || wished_ahead_[slot]) return false;
  if (under_pressure_[slot] || cap_bytes() < kSlabBytes || !source_->carves_slabs()) return false;
  const uint64_t lent_bytes = books_.lent_bytes(slot);
  if (lent_bytes < kGreatUseBytes || books_.slab_free_bytes(slot) >= ReadyBytes(lent_bytes)) return false;
  wished_ahead_.set(slot);
  return true;
}

void ChunkPool::Impl::AskForThread() {
  if (clock_ns_) return;
  knows_timer_.store(true, std::memory_order_relaxed);
  // Refused: the wish stays open, and nobody asks again; each chunk is made when it is asked for.
  PoolTimer::Get().Serve(this, /*due_ns=*/0);
}

size_t ChunkPool::Impl::MakeAhead() {
  size_t made_bytes = 0;
  for (size_t slot = 0; slot < kSizeClassCount; slot++) {
    while (const size_t slab_bytes = MakeSlabAhead(slot)) made_bytes += slab_bytes;
  }
  return made_bytes;
}

size_t ChunkPool::Impl::MakeSlabAhead(size_t slot) {
  uint64_t sweep_count = 0;
  Slab::Pages pages;
  {
    const std::lock_guard lock(mutex_);
    if (!wished_ahead_[slot]) return 0;
    if (under_pressure_[slot]) {
      wished_ahead_.reset(slot);
      return 0;
    }
    sweep_count = sweep_count_;
    pages = ChoosePages(slot, ClassBytes(slot), MadeBy::kPoolsThread);
  }
  Slab* const slab = MapSlab(slot, ClassBytes(slot), pages);
  const uint64_t start_ns = ThreadCpuNs();
  if (slab != nullptr) source_->Populate(slab->base(), slab->bytes());
  const uint64_t took_ns = ThreadCpuNs() - start_ns;
  {
    const std::lock_guard lock(mutex_);
    wished_ahead_.reset(slot);
    if (slab == nullptr) return 0;
    page_choice_.Note(pages == Slab::Pages::kHuge, took_ns);
    // Not if the pool was emptied, or the class has come out of use, in the meantime.
    const uint64_t lent_bytes = books_.lent_bytes(slot);
    if (sweep_count == sweep_count_ && lent_bytes > 0) {
      slab->MarkResident();
      LinkSlab(slab);
      UpdateRoom(slab);
      books_.MadeAhead(slot, slab->bytes());
      wished_ahead_.set(slot, books_.slab_free_bytes(slot) < 2 * ReadyBytes(lent_bytes));
      return slab->bytes();
    }
  }
  UnmapSlab(slab);
  return 0;
}

void ChunkPool::Impl::EnqueueUnused(size_t slot, GiveBackQueue* queue) {
  for (Slab* slab = roomy_[slot].first; slab != nullptr && slab->room == Slab::Room::kResident;
       slab = slab->next_roomy) {
    Enqueue(slab, queue);
  }
}

}  // namespace strongbin
