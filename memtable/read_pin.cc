#include "strongbin/memtable/read_pin.h"

#include <array>
#include <cstddef>
#include <linux/membarrier.h>
#include <mutex>
#include <new>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "strongbin/pool/fork_guard.h"
#include "strongbin/stats/test_points.h"

namespace strongbin {

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kCanUseMembarrier = false;  // ThreadSanitizer does not see what membarrier orders
#else
constexpr bool kCanUseMembarrier = true;
#endif

// The cells of one thread, on cache lines of their own. Never freed; a thread that ends leaves its record, with any
// cells still in use, to a later thread.
constexpr size_t kCellCount = 13;
struct alignas(64) PinRecord {
  std::array<PinCell, kCellCount> cells{};
  PinRecord* next_of_thread = nullptr;  // owner thread only
  PinRecord* next_of_all = nullptr;     // registry lock
  bool owned = false;                   // registry lock
};

}  // namespace

// All pin records of the process, and what lost its owner while pinned. Leaky singleton: pins may end after static
// destructors.
//
// The race between a reader that notes a pin and an owner that looks for pins is decided as in Dekker's algorithm: each
// stores first (the reader its cell, the owner `replacing_` or the orphan count) and then loads the other's. With
// membarrier the owner's system call is the full fence on both sides, so the reader's store needs only a
// compiler barrier behind it. Without it all four accesses are sequentially consistent.
class PinRegistry {
 public:
  static PinRegistry& Get() {
    static PinRegistry* const registry = new PinRegistry;
    return *registry;
  }

  bool uses_membarrier() const { return uses_membarrier_; }
  size_t orphan_count() const { return orphan_count_.load(std::memory_order_seq_cst); }

  // Store of the side that is fenced by ReaderSideBarrier / OwnerSideBarrier. Release: an owner that finds a cell
  // filled again, for another Pinnable, must know as well that the reads under the cell's last pin are done.
  std::memory_order reader_store_order() const {
    return uses_membarrier_ ? std::memory_order_release : std::memory_order_seq_cst;
  }
  void ReaderSideBarrier() const { std::atomic_signal_fence(std::memory_order_seq_cst); }

  // False: the fence could not be had now, so nothing may be concluded from cells that look empty.
  bool OwnerSideBarrier() const {
    if (!uses_membarrier_) return true;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return true;
    return Register() && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
  }

  // Notes `pinnable` in an empty cell of the calling thread; null when no memory was left for one.
  PinCell* FindCell(Pinnable* pinnable);

  // True when some cell of some thread holds `pinnable`. Call after OwnerSideBarrier.
  bool IsPinned(const Pinnable* pinnable) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return !Mutated(Mutation::k_chunk_returned_with_iterator_open) && IsPinnedLocked(pinnable);
  }

  void DestroyWhenUnpinned(Pinnable* pinnable);
  void AfterUnpin(Pinnable* pinnable);
  void LeaveThread(PinRecord* records);

  static ReadPin MakePin(PinCell* cell) { return ReadPin(cell); }
  static void Destroy(Pinnable* pinnable) { delete pinnable; }

 private:
  // What an owner gave up while it was pinned. There are few at any time, so a list will do.
  struct Orphan {
    Pinnable* pinnable;
    Orphan* next;
  };

  PinRegistry() : uses_membarrier_(kCanUseMembarrier && Register()) {}

  static bool Register() { return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0; }

  bool IsPinnedLocked(const Pinnable* pinnable) const {
    for (const PinRecord* record = records_; record != nullptr; record = record->next_of_all) {
      for (const PinCell& cell : record->cells) {
        // Seq_cst: the owner's half of the fence where membarrier is refused. Its acquire part: a cell seen empty means
        // that its reader's loads are done.
        if (cell.load(std::memory_order_seq_cst) == pinnable) return true;
      }
    }
    return false;
  }

  PinRecord* TakeRecord(bool owned);

  const bool uses_membarrier_;
  mutable std::mutex mutex_;
  PinRecord* records_ = nullptr;
  // A child of fork() must not inherit the mutex locked by a thread that it does not have.
  ForkGuard fork_guard_{&mutex_};
  Orphan* orphans_ = nullptr;
  // Not zero while orphans_ is not empty or being added to; the fast path of unpinning reads it.
  std::atomic<size_t> orphan_count_{0};
};

namespace {

[[gnu::constructor]] void MakeAtLoad() { static_cast<void>(PinRegistry::Get()); }  // see fork_guard.h

// The calling thread's records, given back when the thread ends. `thread_ended` has no destructor and so can be read by
// whatever runs after ours in the thread's end.
struct ThreadRecords {
  PinRecord* first = nullptr;
  ~ThreadRecords();
};
thread_local bool thread_ended = false;
thread_local ThreadRecords thread_records;

ThreadRecords::~ThreadRecords() {
  thread_ended = true;
  PinRegistry::Get().LeaveThread(first);
  first = nullptr;
}

PinCell* EmptyCellOf(PinRecord& record) {
  for (PinCell& cell : record.cells) {
    // Acquire: whoever emptied the cell on another thread is done with it.
    if (cell.load(std::memory_order_acquire) == nullptr) return &cell;
  }
  return nullptr;
}

}  // namespace

PinRecord* PinRegistry::TakeRecord(bool owned) {
  for (PinRecord* record = records_; record != nullptr; record = record->next_of_all) {
    if (!record->owned && EmptyCellOf(*record) != nullptr) {
      record->owned = owned;
      return record;
    }
  }
  PinRecord* record = new (std::nothrow) PinRecord;
  if (record == nullptr) return nullptr;
  record->owned = owned;
  record->next_of_all = records_;
  records_ = record;
  return record;
}

PinCell* PinRegistry::FindCell(Pinnable* pinnable) {
  if (!thread_ended) [[likely]] {
    for (PinRecord* record = thread_records.first; record != nullptr; record = record->next_of_thread) {
      if (PinCell* cell = EmptyCellOf(*record)) {
        cell->store(pinnable, reader_store_order());
        return cell;
      }
    }
  }
  // After the thread's records were given back a record is used without being owned: the cell is taken under the lock,
  // and whoever owns the record later passes over cells in use.
  const std::lock_guard<std::mutex> lock(mutex_);
  PinRecord* record = TakeRecord(!thread_ended);
  if (record == nullptr) return nullptr;
  if (!thread_ended) {
    record->next_of_thread = thread_records.first;
    thread_records.first = record;
  }
  PinCell* cell = EmptyCellOf(*record);
  cell->store(pinnable, reader_store_order());
  return cell;
}

void PinRegistry::LeaveThread(PinRecord* records) {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (records != nullptr) {
    PinRecord* next = records->next_of_thread;
    records->next_of_thread = nullptr;
    records->owned = false;
    records = next;
  }
}

void PinRegistry::DestroyWhenUnpinned(Pinnable* pinnable) {
  auto* orphan = new (std::nothrow) Orphan{pinnable, nullptr};
  bool pinned;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // Stored before the cells are read: a reader whose cell is still seen set will read a count that is not zero.
    orphan_count_.fetch_add(1, std::memory_order_seq_cst);
    pinned = !OwnerSideBarrier() || IsPinnedLocked(pinnable);
    if (pinned && orphan != nullptr) {
      orphan->next = orphans_;
      orphans_ = orphan;
    } else {
      orphan_count_.fetch_sub(1, std::memory_order_seq_cst);
    }
  }
  if (!pinned) {
    delete orphan;
    Destroy(pinnable);
  }
  // Pinned and no memory for the note: leaked, which is safe, where freeing it would not be.
}

void PinRegistry::AfterUnpin(Pinnable* pinnable) {
  Orphan* found = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Orphan** link = &orphans_; *link != nullptr; link = &(*link)->next) {
      if ((*link)->pinnable != pinnable) continue;
      if (IsPinnedLocked(pinnable)) return;
      found = *link;
      *link = found->next;
      orphan_count_.fetch_sub(1, std::memory_order_seq_cst);
      break;
    }
  }
  if (found == nullptr) return;
  delete found;
  Destroy(pinnable);
}

ReadPin& ReadPin::operator=(ReadPin&& other) noexcept {
  if (this != &other) {
    Reset();
    cell_ = other.cell_;
    other.cell_ = nullptr;
  }
  return *this;
}

void ReadPin::Reset() {
  if (cell_ == nullptr) return;
  PinRegistry& registry = PinRegistry::Get();
  Pinnable* pinnable = cell_->load(std::memory_order_relaxed);
  // At least release: an owner that sees the cell empty knows our reads are done.
  cell_->store(nullptr, registry.reader_store_order());
  cell_ = nullptr;
  registry.ReaderSideBarrier();
  YieldPoint(YieldAt::k_pin_let_go);
  if (registry.orphan_count() != 0 && !Mutated(Mutation::k_last_pin_frees_nothing)) registry.AfterUnpin(pinnable);
}

ReadPin PinnedPointer::Pin() const {
  PinRegistry& registry = PinRegistry::Get();
  for (;;) {
    // Acquire: see Load.
    Pinnable* pinnable = current_.load(std::memory_order_acquire);
    if (pinnable == nullptr) return ReadPin();
    PinCell* cell = registry.FindCell(pinnable);
    if (cell == nullptr) return ReadPin();
    registry.ReaderSideBarrier();
    YieldPoint(YieldAt::k_pin_noted);
    // If the owner's look at the cells missed ours, then its store to replacing_ is visible here, or its whole
    // replacement is: replacing_ is read first, and false again implies the new current_.
    if (!replacing_.load(std::memory_order_seq_cst) && current_.load(std::memory_order_seq_cst) == pinnable) {
      return PinRegistry::MakePin(cell);
    }
    ReadPin undo = PinRegistry::MakePin(cell);
    undo.Reset();
    sched_yield();
  }
}

Pinnable* PinnedPointer::TryReplace(Pinnable* next) {
  PinRegistry& registry = PinRegistry::Get();
  Pinnable* const previous = current_.load(std::memory_order_relaxed);
  replacing_.store(true, std::memory_order_seq_cst);
  YieldPoint(YieldAt::k_replacing);
  // Nothing cannot be pinned; to the registry every empty cell would look like a pin on it.
  const bool pinned = previous != nullptr && (!registry.OwnerSideBarrier() || registry.IsPinned(previous));
  if (!pinned) current_.store(next, std::memory_order_seq_cst);
  replacing_.store(false, std::memory_order_seq_cst);
  return pinned ? nullptr : previous;
}

void PinnedPointer::Abandon() {
  Pinnable* const previous = current_.exchange(nullptr, std::memory_order_seq_cst);
  if (previous != nullptr) PinRegistry::Get().DestroyWhenUnpinned(previous);
}

void DestroyUnpinned(Pinnable* pinnable) { PinRegistry::Destroy(pinnable); }

}  // namespace strongbin
