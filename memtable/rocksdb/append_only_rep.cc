#include "strongbin/memtable/rocksdb/append_only_rep.h"

#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <utility>

namespace strongbin {

namespace {

// MemTableRep::Get asks for an iterator and never lets go of it. This thread's innermost Get leaves one here for it.
// Get may be entered again from its own callback, for this memtable or another.
struct Offer {
  const AppendOnlyRep* rep = nullptr;
  RepIterator* iterator = nullptr;
};
// Initial-exec: a load instead of a call, and the 16 bytes find room even where the library is loaded late.
[[gnu::tls_model("initial-exec")]] thread_local Offer t_offer;

class OfferScope {
 public:
  explicit OfferScope(const Offer& offer) : outer_(std::exchange(t_offer, offer)) {}
  ~OfferScope() { t_offer = outer_; }
  OfferScope(const OfferScope&) = delete;
  OfferScope& operator=(const OfferScope&) = delete;

 private:
  const Offer outer_;
};

// RocksDB passes what Allocate returned on to Insert and does nothing else with it.
ROCKSDB_NAMESPACE::KeyHandle ToKeyHandle(uint32_t handle) { return reinterpret_cast<void*>(uintptr_t{handle} + 1); }
uint32_t FromKeyHandle(ROCKSDB_NAMESPACE::KeyHandle handle) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle) - 1);
}

}  // namespace

AppendOnlyRep::AppendOnlyRep(ROCKSDB_NAMESPACE::Allocator* allocator, ChunkPool* pool, RepMemory::Home home,
                             std::shared_ptr<BufferCharge> charge, std::shared_ptr<RepListener> listener,
                             ROCKSDB_NAMESPACE::Logger* logger, const KeyComparator* order)
    : MemTableRep(allocator),
      logger_(logger),
      order_(order),
      state_(RefPtr<RepState>::Adopt(new RepState(pool, home, std::move(charge), this, std::move(listener)))) {}

AppendOnlyRep::~AppendOnlyRep() { state_->farewell.listener->OnEnd(*this); }

AppendOnlyRep::KeyHandle AppendOnlyRep::Allocate(size_t len, char** buf) {
  const std::lock_guard<WriterLock> lock(lock_);
  EncodedLog::Room room = state_->log.Allocate(len);
  if (room.data == nullptr) [[unlikely]] {
    // May throw: then RocksDB's own way with exhausted memory applies.
    room = state_->log.Adopt(AllocateInEngine(len));
    if (room.data == nullptr) throw std::bad_alloc();
    state_->memory.CountEngineBytes(len);
  }
  *buf = room.data;
  return ToKeyHandle(room.handle);
}

char* AppendOnlyRep::AllocateInEngine(size_t bytes) {
  char* data = nullptr;
  MemTableRep::Allocate(bytes, &data);
  return data;
}

bool AppendOnlyRep::InsertKey(KeyHandle key_handle) {
  const uint32_t handle = FromKeyHandle(key_handle);
  const std::lock_guard<WriterLock> lock(lock_);
  if (!state_->core.AddOne(*state_->log.At(handle))) return false;
  state_->log.Append(handle);
  return true;
}

void AppendOnlyRep::MarkReadOnly() {
  state_->memory.MarkReadOnly();
  state_->farewell.listener->OnReadOnly(*this);
}

bool AppendOnlyRep::Contains(const char* key) const {
  const InternalKey wanted(LengthPrefixed(key));
  return state_->core.Contains(wanted.user_key, wanted.sequence);
}

void AppendOnlyRep::Get(const ROCKSDB_NAMESPACE::LookupKey& key, void* callback_args,
                        bool (*callback)(void* args, const char* entry)) {
  RepIterator iterator(*state_, order_, /*room=*/nullptr);
  const OfferScope scope({this, &iterator});
  MemTableRep::Get(key, callback_args, callback);
}

AppendOnlyRep::Iterator* AppendOnlyRep::GetDynamicPrefixIterator(ROCKSDB_NAMESPACE::Arena* arena) {
  if (t_offer.rep == this && t_offer.iterator != nullptr) return std::exchange(t_offer.iterator, nullptr);
  return GetIterator(arena);
}

AppendOnlyRep::Iterator* AppendOnlyRep::GetIterator(ROCKSDB_NAMESPACE::Arena*) {
  void* room = state_->room.Take();
  return new (room) RepIterator(*state_, order_, room);
}

uint64_t AppendOnlyRep::ApproximateNumEntries(const Slice& start_internal_key, const Slice& end_internal_key) {
  OrderedCursor<EncodedFace> cursor(state_->log);
  if (!state_->core.SetSources(&cursor)) return 0;
  const auto count_before = [&cursor](const Slice& internal_key) {
    const InternalKey key({internal_key.data(), internal_key.size()});
    return cursor.CountBefore({.key = key.user_key, .sequence = key.sequence});
  };
  const uint64_t start = count_before(start_internal_key), end = count_before(end_internal_key);
  return end > start ? end - start : 0;
}

// R. Floyd's way to draw without replacement ("A sample of brilliance"), with the result as its own memory.
void AppendOnlyRep::UniqueRandomSample(uint64_t, uint64_t target_sample_size,
                                       std::unordered_set<const char*>* entries) {
  thread_local std::minstd_rand random(std::random_device{}());
  const auto entry_at = [this](uint64_t number) { return state_->log.At(state_->log.HandleAt(number))->bytes; };
  const uint64_t count = state_->log.size();
  for (uint64_t last = target_sample_size < count ? count - target_sample_size : 0; last < count; ++last) {
    const char* drawn = entry_at(std::uniform_int_distribution<uint64_t>(0, last)(random));
    if (!entries->insert(drawn).second) entries->insert(entry_at(last));
  }
}

size_t AppendOnlyRep::ApproximateMemoryUsage() {
  if (state_->memory.home() == RepMemory::Home::kEngineArena) return 0;
  return state_->log.touched_bytes() + state_->log.handle_reserved_bytes() + state_->core.index().reserved_bytes();
}

void AppendOnlyRep::AddTo(TableStats* stats) const {
  const std::lock_guard<WriterLock> lock(lock_);
  state_->core.ReportNow();
  RepState::AddWritersPart(state_.get(), stats);
  state_->core.AddRunsTo(stats);
}

RepState::~RepState() { core.EndReport(); }

void RepState::AddWritersPart(const void* rep_state, TableStats* stats) {
  const EncodedLog& log = static_cast<const RepState*>(rep_state)->log;
  SetKindBytes(stats, ChunkKind::k_key, log.used_bytes(), log.reserved_bytes(), log.abandoned_bytes());
  SetKindBytes(stats, ChunkKind::k_log, log.handle_used_bytes(), log.handle_reserved_bytes(), 0);
  static_cast<const RepState*>(rep_state)->core.AddIndexTo(stats);
  stats->entries = log.size();
  stats->appended_entries += log.size();
  stats->buffers_examined += log.buffers_examined();
}

}  // namespace strongbin
