#include "strongbin/memtable/append_only_memtable.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "strongbin/memtable/iterator_impl.h"
#include "strongbin/memtable/table_state.h"
#include "strongbin/memtable/writer_lock.h"
#include "strongbin/stats/stats_page.h"
#include "strongbin/stats/test_points.h"

namespace strongbin {

namespace {

bool IsBlob(std::string_view bytes) {
  return bytes.size() < kMaxBlobBytes && (bytes.data() != nullptr || bytes.empty());
}

// Without branches between the conditions: they hold for nearly every write.
bool IsValid(const Write& write) {
  unsigned wrong = 0;
  for (const std::string_view bytes : {write.key, write.key_suffix, write.value}) {
    wrong |= static_cast<unsigned>(bytes.size() >= kMaxBlobBytes);
    wrong |= static_cast<unsigned>(bytes.data() == nullptr && !bytes.empty());
  }
  wrong |= static_cast<unsigned>(write.key.size() + write.key_suffix.size() >= kMaxBlobBytes);
  wrong |= static_cast<unsigned>(write.sequence > kMaxSequence);
  wrong |= static_cast<unsigned>(write.kind) & EntryFace::kDeadBit;
  return wrong == 0;
}

bool AreValid(std::span<const Write> writes) {
  for (const Write& write : writes) {
    if (!IsValid(write)) return false;
  }
  return true;
}

WriteNeed NeedOf(std::span<const Write> writes) {
  constexpr size_t kFarBytes = sizeof(ByteRef::Far) + alignof(ByteRef::Far);
  WriteNeed need{.entry_count = writes.size()};
  const auto add = [](ArenaNeed* arena, size_t bytes, bool is_copied) {
    if (is_copied && bytes > 0) arena->Add(bytes);
    if (!ByteRef::Fits(nullptr, bytes)) arena->Add(kFarBytes);
  };
  for (const Write& write : writes) {
    const size_t key_bytes = write.key.size() + write.key_suffix.size();
    add(&need.keys, key_bytes, key_bytes > kInlineKeyBytes);
    add(&need.values, write.value.size(), write.value_mode == ValueMode::kCopy);
  }
  return need;
}

// Room is reserved in buffers of at least this.
WriteNeed NeedOf(const Capacity& capacity) {
  constexpr uint64_t kReservedBufferBytes = uint64_t{16} << 10;
  const auto arena_need = [](uint64_t bytes) {
    return bytes == 0 ? ArenaNeed{} : ArenaNeed{2, bytes, bytes, kReservedBufferBytes};
  };
  return {capacity.entries, arena_need(capacity.key_bytes), arena_need(capacity.value_bytes)};
}

bool EndsTable(ResetKindLabel kind) {
  return kind == ResetKindLabel::k_release_warm || kind == ResetKindLabel::k_release_cold;
}

Capacity Largest(const Capacity& a, const Capacity& b) {
  return {std::max(a.entries, b.entries), std::max(a.key_bytes, b.key_bytes), std::max(a.value_bytes, b.value_bytes)};
}
Capacity Smallest(const Capacity& a, const Capacity& b) {
  return {std::min(a.entries, b.entries), std::min(a.key_bytes, b.key_bytes), std::min(a.value_bytes, b.value_bytes)};
}

}  // namespace

class AppendOnlyMemtable::Impl {
 public:
  explicit Impl(const MemtableOptions& options)
      : options_(options),
        pool_(options.pool != nullptr ? *options.pool : ChunkPool::Default()),
        lock_(options.concurrent_writers),
        expected_(options.base_capacity),
        expected_keys_(options.base_capacity.entries),
        current_(NewState(expected_keys_)) {}
  ~Impl() {
    if (TableState* state = State()) state->EndTable(options_.pool_at_end);
    current_.Abandon();
  }

  // The current generation; null once released, or when there was no memory for it.
  TableState* State() const { return static_cast<TableState*>(current_.Load()); }

  // Why State() is null.
  Status WhyNoState() const {
    return closed_.load(std::memory_order_relaxed) ? Status::Code::kClosed : Status::Code::kOutOfMemory;
  }

  Status Append(std::span<const Write> writes, bool trusted_sorted) {
    if (!AreValid(writes)) return Status::Code::kInvalidArgument;
    const std::lock_guard<WriterLock> lock(lock_);
    TableState* state = nullptr;
    if (const Status status = Writable(&state); !status.ok()) return status;
    if (options_.hard_budget_bytes > 0 && state->WouldPass(options_.hard_budget_bytes, NeedOf(writes))) {
      return Status::Code::kOverBudget;
    }
    return state->Append(writes, trusted_sorted);
  }

  Status AppendFilled(const Write& write, size_t value_bytes, const ValueFiller& fill);
  Status Reserve(const Capacity& capacity);
  Status Replace(ResetKindLabel kind, WhenBusy when_busy);

  void Freeze() {
    const std::lock_guard<WriterLock> lock(lock_);
    if (TableState* state = State()) {
      state->IndexPending();
      state->Report();
    }
    // Release: who sees the table frozen sees all its entries.
    frozen_.store(true, std::memory_order_release);
  }

  TableStats Stats() {
    const std::lock_guard<WriterLock> lock(lock_);
    TableStats stats = past_;
    if (TableState* state = State()) {
      state->IndexPending();
      state->Report();
      state->AddTo(&stats);
    }
    return stats;
  }

  void Trim(const Capacity& capacity) {
    const std::lock_guard<WriterLock> lock(lock_);
    expected_ = Smallest(expected_, capacity);
    expected_keys_ = std::min(expected_keys_, capacity.entries);
  }
  Capacity expected_capacity() {
    const std::lock_guard<WriterLock> lock(lock_);
    return expected_;
  }

  const MemtableOptions& options() const { return options_; }
  ChunkPool& pool() const { return pool_; }
  // Acquire: see Freeze.
  bool frozen() const { return frozen_.load(std::memory_order_acquire); }
  ReadPin Pin() const { return current_.Pin(); }

 private:
  // Null when there is no memory for it.
  TableState* NewState(uint64_t expected_keys) {
    auto* state =
        new (std::nothrow) TableState(&pool_, options_.checksum_entries, options_.base_capacity, expected_keys);
    if (state == nullptr || state->IsWhole(options_.checksum_entries)) return state;
    DestroyUnpinned(state);
    return nullptr;
  }
  // Under lock_: the generation that writes go to.
  Status Writable(TableState** state) {
    *state = State();
    if (*state == nullptr) return WhyNoState();
    return frozen_.load(std::memory_order_relaxed) ? Status::Code::kFrozen : Status::Code::kOk;
  }
  Status TryReplace(ResetKindLabel kind, TableState** previous);

  const MemtableOptions options_;
  ChunkPool& pool_;
  WriterLock lock_;
  Capacity expected_;                // lock_
  uint64_t expected_keys_;           // lock_: of the entries expected, those that an index will have to hold
  TableStats past_;                  // lock_: counters of earlier generations
  std::atomic<bool> closed_{false};  // changed under lock_; relaxed: it only says why there is no generation
  std::atomic<bool> frozen_{false};
  PinnedPointer current_;
};

// The value is filled in outside the lock, so that a slow or nested callback holds up nobody; a pin keeps its room from
// being reset away meanwhile.
Status AppendOnlyMemtable::Impl::AppendFilled(const Write& write, size_t value_bytes, const ValueFiller& fill) {
  Write filled = write;
  filled.value = {};
  filled.value_mode = ValueMode::kBorrow;
  if (value_bytes >= kMaxBlobBytes || !IsValid(filled)) return Status::Code::kInvalidArgument;
  ReadPin pin = Pin();
  char* room = nullptr;
  {
    const std::lock_guard<WriterLock> lock(lock_);
    TableState* state = nullptr;
    if (const Status status = Writable(&state); !status.ok()) return status;
    if (pin.get() != state) return Status::Code::kOutOfMemory;  // no memory for a pin
    WriteNeed need = NeedOf({&filled, 1});
    if (value_bytes > 0) need.values.Add(value_bytes);
    if (options_.hard_budget_bytes > 0 && state->WouldPass(options_.hard_budget_bytes, need)) {
      return Status::Code::kOverBudget;
    }
    // Nothing for an empty value: an arena that has no buffer yet would take its first one for it.
    if (value_bytes > 0) room = state->AllocateValue(value_bytes);
    if (value_bytes > 0 && room == nullptr) return Status::Code::kOutOfMemory;
  }
  if (!fill({room, value_bytes})) return Status::Code::kAborted;
  filled.value = {room, value_bytes};
  return Append({&filled, 1}, /*trusted_sorted=*/false);
}

Status AppendOnlyMemtable::Impl::Reserve(const Capacity& capacity) {
  const std::lock_guard<WriterLock> lock(lock_);
  TableState* state = nullptr;
  if (const Status status = Writable(&state); !status.ok()) return status;
  if (options_.hard_budget_bytes > 0 && state->WouldPass(options_.hard_budget_bytes, NeedOf(capacity))) {
    return Status::Code::kOverBudget;
  }
  return state->Reserve(capacity);
}

Status AppendOnlyMemtable::Impl::TryReplace(ResetKindLabel kind, TableState** previous) {
  const bool ends = EndsTable(kind);
  const std::lock_guard<WriterLock> lock(lock_);
  if (closed_.load(std::memory_order_relaxed)) return Status::Code::kClosed;
  TableState* const old = State();
  // What this generation held, or half of what was expected of it, so that one large generation is forgotten in a few.
  const bool forgets = kind == ResetKindLabel::k_reset_hard;
  const Capacity held = old == nullptr ? Capacity{} : old->held();
  const Capacity halved{expected_.entries / 2, expected_.key_bytes / 2, expected_.value_bytes / 2};
  const Capacity expected = forgets ? options_.base_capacity : Largest(options_.base_capacity, Largest(held, halved));
  const uint64_t indexed_keys = old == nullptr ? 0 : old->indexed_key_count();
  const uint64_t expected_keys = forgets ? options_.base_capacity.entries
                                         : std::max({options_.base_capacity.entries, indexed_keys, expected_keys_ / 2});
  TableState* const next = ends ? nullptr : NewState(expected_keys);
  if (next == nullptr && !ends) return Status::Code::kOutOfMemory;
  if (current_.TryReplace(next) == nullptr && old != nullptr) {
    if (next != nullptr) DestroyUnpinned(next);
    return Status::Code::kBusy;
  }
  expected_ = expected;
  expected_keys_ = expected_keys;
  if (old != nullptr) {
    // Counters and maxima are the table's, gauges the generation's.
    TableStats total = past_;
    old->AddTo(&total);
    ForEachTableMetric(
        [](const MetricInfo& info, std::span<uint64_t> past, std::span<const uint64_t> now) {
          if (info.type != MetricType::kGauge) std::copy(now.begin(), now.end(), past.begin());
        },
        past_, total);
  }
  past_.resets[static_cast<size_t>(kind)] += 1;
  if (auto* page = stats_internal::CurrentPage()) page->tables.resets[static_cast<size_t>(kind)].AddShared(1);
  closed_.store(ends, std::memory_order_relaxed);
  // Release: a writer that sees the table writable again sees the new generation.
  frozen_.store(false, std::memory_order_release);
  *previous = old;
  return Status::Code::kOk;
}

Status AppendOnlyMemtable::Impl::Replace(ResetKindLabel kind, WhenBusy when_busy) {
  TableState* previous = nullptr;
  bool counted_busy = false;
  for (;;) {
    const Status status = TryReplace(kind, &previous);
    if (status.ok()) break;
    if (status != Status::Code::kBusy) return status;
    if (!std::exchange(counted_busy, true)) {
      const std::lock_guard<WriterLock> lock(lock_);
      past_.busy_resets += 1;
      if (auto* page = stats_internal::CurrentPage()) page->tables.busy_resets.AddShared(1);
    }
    if (when_busy == WhenBusy::kReturn) return status;
    do {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    } while (Mutated(Mutation::k_wake_up_lost_at_busy_reset));
  }
  if (previous == nullptr) return Status::Code::kOk;
  // Outside the lock: giving chunks back may take system calls.
  if (kind == ResetKindLabel::k_reset_cold || kind == ResetKindLabel::k_release_cold) previous->MakeCold();
  if (EndsTable(kind)) previous->EndTable(options_.pool_at_end);
  DestroyUnpinned(previous);
  return Status::Code::kOk;
}

AppendOnlyMemtable::AppendOnlyMemtable(const MemtableOptions& options) : impl_(std::make_unique<Impl>(options)) {}
AppendOnlyMemtable::~AppendOnlyMemtable() = default;

Status AppendOnlyMemtable::Put(std::string_view key, Sequence sequence, std::string_view value) {
  return Append({.key = key, .sequence = sequence, .value = value});
}
Status AppendOnlyMemtable::Delete(std::string_view key, Sequence sequence) {
  return Append({.key = key, .sequence = sequence, .kind = EntryKind::kDelete});
}
Status AppendOnlyMemtable::PutPointer(std::string_view key, Sequence sequence, const ValuePointer& pointer) {
  const std::string_view bytes(reinterpret_cast<const char*>(&pointer), sizeof(pointer));
  return Append({.key = key, .sequence = sequence, .value = bytes, .kind = EntryKind::kValuePointer});
}
Status AppendOnlyMemtable::Append(const Write& write) { return impl_->Append({&write, 1}, /*trusted_sorted=*/false); }
Status AppendOnlyMemtable::AppendFilled(const Write& write, size_t value_bytes, const ValueFiller& fill) {
  return impl_->AppendFilled(write, value_bytes, fill);
}
Status AppendOnlyMemtable::AppendBatch(std::span<const Write> batch) {
  return impl_->Append(batch, /*trusted_sorted=*/false);
}
Status AppendOnlyMemtable::AppendSortedBatch(std::span<const Write> batch) {
  return impl_->Append(batch, /*trusted_sorted=*/true);
}

Status AppendOnlyMemtable::AppendProduced(size_t count, const WriteProducer& produce) {
  if (count > SIZE_MAX / sizeof(Write)) return Status::Code::kOutOfMemory;
  const std::unique_ptr<Write[]> writes(new (std::nothrow) Write[count]);
  if (writes == nullptr) return Status::Code::kOutOfMemory;
  for (size_t i = 0; i < count; ++i) {
    if (!produce(i, &writes[i])) return Status::Code::kAborted;
  }
  return AppendBatch({writes.get(), count});
}

Status AppendOnlyMemtable::Reserve(const Capacity& capacity) { return impl_->Reserve(capacity); }
void AppendOnlyMemtable::Freeze() { impl_->Freeze(); }
bool AppendOnlyMemtable::frozen() const { return impl_->frozen(); }

LookupResult AppendOnlyMemtable::Get(std::string_view key, Sequence snapshot) const {
  const TableState* state = impl_->State();
  if (state == nullptr) return {.status = impl_->WhyNoState()};
  if (!IsBlob(key)) return {.status = Status::Code::kInvalidArgument};
  const std::optional<uint32_t> position = state->core().Find(key, snapshot);
  if (!position) return {};
  const Entry& entry = *state->log().At(*position);
  if (!state->ChecksumMatches(*position, entry)) return {.status = Status::Code::kCorruption};
  return {Status::Code::kOk, EntryFace::KindOf(entry), EntryFace::SequenceOf(entry), entry.value.view()};
}

MemtableIterator AppendOnlyMemtable::NewIterator(const ReadOptions& options) const {
  return MemtableIterator(std::unique_ptr<MemtableIterator::Impl>(
      new (std::nothrow) MemtableIterator::Impl(impl_->Pin(), impl_->WhyNoState(), options)));
}

ReadPin AppendOnlyMemtable::Pin() const { return impl_->Pin(); }

bool AppendOnlyMemtable::ProbingIsCheaperThanScanning(uint64_t key_count) const {
  const TableState* state = impl_->State();
  if (state == nullptr) return true;
  // Weights in nanoseconds, from the benchmarks of a million entries: only their ratios matter.
  constexpr uint64_t kProbeIndex = 150, kProbeStep = 20, kScanEntry = 15, kSortEntry = 60;
  const uint64_t entries = state->log().size();
  const uint64_t base = std::min(state->core().base_count(), entries);
  const uint64_t probe = (base < entries ? kProbeIndex : 0) + kProbeStep * static_cast<uint64_t>(std::bit_width(base));
  const uint64_t scan = kScanEntry * entries + kSortEntry * state->core().UnsortedCount(base, entries);
  return key_count < scan / std::max<uint64_t>(probe, 1);
}

Status AppendOnlyMemtable::ResetWarm(WhenBusy when_busy) {
  return impl_->Replace(ResetKindLabel::k_reset_warm, when_busy);
}
Status AppendOnlyMemtable::ResetCold(WhenBusy when_busy) {
  return impl_->Replace(ResetKindLabel::k_reset_cold, when_busy);
}
Status AppendOnlyMemtable::ResetHard(WhenBusy when_busy) {
  return impl_->Replace(ResetKindLabel::k_reset_hard, when_busy);
}
Status AppendOnlyMemtable::ReleaseWarm(WhenBusy when_busy) {
  return impl_->Replace(ResetKindLabel::k_release_warm, when_busy);
}
Status AppendOnlyMemtable::ReleaseCold(WhenBusy when_busy) {
  return impl_->Replace(ResetKindLabel::k_release_cold, when_busy);
}
void AppendOnlyMemtable::Trim(const Capacity& capacity) { impl_->Trim(capacity); }
Capacity AppendOnlyMemtable::expected_capacity() const { return impl_->expected_capacity(); }

uint64_t AppendOnlyMemtable::entry_count() const {
  const TableState* state = impl_->State();
  return state == nullptr ? 0 : state->live_entry_count();
}
size_t AppendOnlyMemtable::MemoryUsage() const {
  const TableState* state = impl_->State();
  return state == nullptr ? 0 : state->reserved_bytes();
}
bool AppendOnlyMemtable::ShouldFreeze() const { return MemoryUsage() >= impl_->options().freeze_bytes; }
TableStats AppendOnlyMemtable::Stats() const { return impl_->Stats(); }
ChunkPool& AppendOnlyMemtable::pool() const { return impl_->pool(); }

}  // namespace strongbin
