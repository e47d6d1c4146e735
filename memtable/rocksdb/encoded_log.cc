#include "strongbin/memtable/rocksdb/encoded_log.h"

#include <algorithm>
#include <new>

namespace strongbin {

EncodedLog::EncodedLog(ChunkSupply* supply)
    : supply_(supply),
      arena_({.pool = supply}),
      handles_(supply, ChunkKind::k_log),
      tables_(supply, ChunkKind::k_log) {}

EncodedLog::~EncodedLog() { delete far_.load(std::memory_order_relaxed); }

EncodedLog::Room EncodedLog::Allocate(size_t bytes) {
  if (!EnsureSlot()) return {};
  if (near_base_ != nullptr) [[likely]] {
    if (char* data = arena_.TryBump(bytes, 1)) [[likely]] {
      NoteTouched();
      allocated_count_.Add(1);
      return {data, near_handle_ + static_cast<uint32_t>(data - near_base_)};
    }
  }
  return AllocateSlow(bytes);
}

EncodedLog::Room EncodedLog::AllocateSlow(size_t bytes) {
  char* data = arena_.Allocate(bytes);
  if (data == nullptr) return {};
  NoteTouched();
  const Chunk buffer = arena_.current_buffer();
  const bool in_buffer = data >= buffer.data && data < buffer.data + buffer.bytes;
  if (in_buffer && (buffer.data == near_base_ || EnterNearChunk())) {
    allocated_count_.Add(1);
    return {data, near_handle_ + static_cast<uint32_t>(data - near_base_)};
  }
  // Without memory for its name the entry's bytes are abandoned.
  return Adopt(data);
}

EncodedLog::Room EncodedLog::Adopt(char* data) {
  if (!EnsureSlot()) return {};
  AppendLog<const char*>* far = far_.load(std::memory_order_relaxed);
  if (far == nullptr) {
    far = new (std::nothrow) AppendLog<const char*>(supply_, ChunkKind::k_log);
    if (far == nullptr) return {};
    // Release: pairs with At.
    far_.store(far, std::memory_order_release);
  }
  const uint64_t number = far->writer_size();
  if (number >= kMaxSlots - kFirstFar || !far->EnsureRoom(1)) return {};
  *far->At(number) = data;
  far->Publish(1);
  allocated_count_.Add(1);
  return {data, kFirstFar + static_cast<uint32_t>(number)};
}

const EncodedEntry* EncodedLog::AtFar(uint32_t handle) const {
  // Acquire: as in At.
  return reinterpret_cast<const EncodedEntry*>(*far_.load(std::memory_order_acquire)->At(handle - kFirstFar));
}

bool EncodedLog::EnterNearChunk() {
  near_base_ = nullptr;
  if (near_count_ == kMaxNearChunks) return false;
  if (near_count_ == near_room_) {
    const uint32_t room = near_room_ == 0 ? kFirstTableChunks : kMaxNearChunks;
    auto* table = reinterpret_cast<const char**>(tables_.Add(room * sizeof(char*)));
    if (table == nullptr) return false;
    std::copy_n(bases_.load(std::memory_order_relaxed), near_count_, table);
    // Release: pairs with At.
    bases_.store(table, std::memory_order_release);
    near_room_ = room;
  }
  near_base_ = arena_.current_buffer().data;
  // The writer alone changes the table, and only behind what readers may look at.
  const_cast<const char**>(bases_.load(std::memory_order_relaxed))[near_count_] = near_base_;
  near_handle_ = near_count_ << kOffsetBits;
  ++near_count_;
  return true;
}

// All that are allocated and not appended may be appended next.
bool EncodedLog::EnsureSlot() {
  const uint64_t unappended = unappended_count();
  return handles_.writer_size() + unappended < kMaxSlots && handles_.EnsureRoom(unappended + 1);
}

size_t EncodedLog::handle_reserved_bytes() const {
  const AppendLog<const char*>* far = far_.load(std::memory_order_acquire);
  return handles_.reserved_bytes() + tables_.reserved_bytes() + (far == nullptr ? 0 : far->reserved_bytes());
}

}  // namespace strongbin
