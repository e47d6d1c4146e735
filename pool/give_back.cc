// The part of a pool that gives memory back to its source, and the lists of slabs that it works on.
#include <algorithm>

#include "strongbin/pool/chunk_pool_impl.h"
#include "strongbin/pool/poison.h"
#include "strongbin/stats/test_points.h"

namespace strongbin {

void ChunkPool::Impl::Enqueue(Slab* slab, GiveBackQueue* queue) {
  if (slab->queued) return;  // by this thread or by another: whoever has it will see what was freed
  slab->queued = true;
  slab->next_queued = queue->first;
  queue->first = slab;
}

size_t ChunkPool::Impl::GiveBackAll(GiveBackQueue* queue, Lock* lock) {
  size_t returned_bytes = 0;
  while (Slab* slab = queue->first) {
    queue->first = slab->next_queued;
    slab->queued = false;
    returned_bytes += GiveBackSlab(slab, lock);
  }
  return returned_bytes;
}

size_t ChunkPool::Impl::GiveBackSlab(Slab* slab, Lock* lock) {
  size_t returned_bytes = 0;
  for (;;) {
    GiveBack give_back;
    if (!slab->PlanGiveBack(source_->page_bytes(), !slab->queued, &give_back)) return returned_bytes;
    UpdateRoom(slab);
    lock->unlock();
    YieldPoint(YieldAt::k_giving_back);
    CarryOut(slab, &give_back);
    lock->lock();
    const size_t bytes = slab->FinishGiveBack(give_back);
    books_.Returned(slab->slot(), bytes);
    returned_bytes += bytes;
    if (give_back.unmapped) {
      UnlinkSlab(slab);
      lock->unlock();
      Slab::Destroy(slab);
      lock->lock();
      return returned_bytes;
    }
    UpdateRoom(slab);
    // Pages that other threads gave back meanwhile may have been the last of the slab. Then the next turn unmaps it.
    if (give_back.whole || !slab->AllFree()) return returned_bytes;
  }
}

void ChunkPool::Impl::CarryOut(Slab* slab, GiveBack* give_back) {
  if (give_back->whole) {
    UnpoisonMemory(slab->base(), slab->bytes());
    give_back->unmapped = source_->Unmap(slab->base(), slab->bytes());
    if (give_back->unmapped) {
      give_back->left = give_back->leaving;
      return;
    }
    PoisonMemory(slab->base(), slab->bytes());
  }
  ForEachRun(give_back->leaving, [&](size_t first, size_t count) {
    char* const begin = slab->base() + first * slab->chunk_bytes();
    const size_t bytes = count * slab->chunk_bytes();
    for (size_t done = 0; done < bytes; done += kGiveBackStepBytes) {
      if (!source_->Discard(begin + done, std::min(bytes - done, kGiveBackStepBytes))) return;
    }
    for (size_t i = first; i < first + count; i++) give_back->left[i / 64] |= uint64_t{1} << (i % 64);
  });
}

void ChunkPool::Impl::UpdateRoom(Slab* slab) {
  const Slab::Room room = slab->FindRoom();
  if (room == slab->room) return;
  RoomyList& list = roomy_[slab->slot()];
  if (slab->room != Slab::Room::kNone) {
    (slab->prev_roomy != nullptr ? slab->prev_roomy->next_roomy : list.first) = slab->next_roomy;
    (slab->next_roomy != nullptr ? slab->next_roomy->prev_roomy : list.last) = slab->prev_roomy;
    slab->prev_roomy = nullptr;
    slab->next_roomy = nullptr;
  }
  slab->room = room;
  if (room == Slab::Room::kResident) {
    slab->next_roomy = list.first;
    (list.first != nullptr ? list.first->prev_roomy : list.last) = slab;
    list.first = slab;
  } else if (room == Slab::Room::kDiscarded) {
    slab->prev_roomy = list.last;
    (list.last != nullptr ? list.last->next_roomy : list.first) = slab;
    list.last = slab;
  }
}

void ChunkPool::Impl::LinkSlab(Slab* slab) {
  slab->prev_slab = last_slab_;
  slab->next_slab = nullptr;
  (last_slab_ != nullptr ? last_slab_->next_slab : first_slab_) = slab;
  last_slab_ = slab;
  slab_count_++;
}

void ChunkPool::Impl::UnlinkSlab(Slab* slab) {
  (slab->prev_slab != nullptr ? slab->prev_slab->next_slab : first_slab_) = slab->next_slab;
  (slab->next_slab != nullptr ? slab->next_slab->prev_slab : last_slab_) = slab->prev_slab;
  slab_count_--;
}

}  // namespace strongbin
