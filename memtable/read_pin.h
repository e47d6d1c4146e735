// Pins that keep a table's memory from being reset, at the cost of one store on the reading thread's own cache line.
#pragma once

#include <atomic>

namespace strongbin {

// What a pin protects, and how the last pin frees it once its owner is gone.
class Pinnable {
 public:
  Pinnable() = default;
  Pinnable(const Pinnable&) = delete;
  Pinnable& operator=(const Pinnable&) = delete;

 protected:
  friend class ReadPin;
  friend class PinRegistry;
  // Frees the object. Called once, when no pin is left, on the thread that let go last, under no lock.
  virtual ~Pinnable() = default;
};

// Where a thread notes what it reads; on a cache line of that thread.
using PinCell = std::atomic<Pinnable*>;

// A note that somebody reads a Pinnable: while it lives, the owner's resets answer busy, and what the owner gave up is
// kept.
//
// Owns one cell of the thread that made it; move-only; may be let go on any thread.
// Thread safety: one thread at a time; different pins do not touch each other.
// When full or wrong: empty (false) when the table has been released or no memory was left for a cell.
// Cost: a release store to make and one to let go (a locked instruction more where membarrier is refused).
class ReadPin {
 public:
  ReadPin() = default;
  ReadPin(ReadPin&& other) noexcept : cell_(other.cell_) { other.cell_ = nullptr; }
  ReadPin& operator=(ReadPin&& other) noexcept;
  ~ReadPin() { Reset(); }

  explicit operator bool() const { return cell_ != nullptr; }
  // Relaxed: the cell was written on behalf of this pin, and whoever moved the pin here has ordered that.
  Pinnable* get() const { return cell_ == nullptr ? nullptr : cell_->load(std::memory_order_relaxed); }
  void Reset();  // lets go

 private:
  friend class PinRegistry;
  explicit ReadPin(PinCell* cell) : cell_(cell) {}

  PinCell* cell_ = nullptr;
};

// An owner's side: a pointer to the current Pinnable that readers pin and that the owner replaces or gives up.
//
// Owns what is current until TryReplace hands it to the caller; Abandon comes before the destructor, which frees
// nothing. Thread safety: Pin and Load from any thread; TryReplace, Abandon by one thread at a time (the owner's lock).
// Lifetime: what Load answers is only sure to stay under a pin. When no memory is left for a pin: an empty one.
// Cost: that of a ReadPin for Pin; TryReplace and Abandon fence all threads of the process and look at all their cells.
class PinnedPointer {
 public:
  explicit PinnedPointer(Pinnable* first) : current_(first) {}
  ~PinnedPointer() = default;
  PinnedPointer(const PinnedPointer&) = delete;
  PinnedPointer& operator=(const PinnedPointer&) = delete;

  // Acquire: the reader sees the object as it was when it was put here.
  Pinnable* Load() const { return current_.load(std::memory_order_acquire); }

  // Pins what is current; waits for a TryReplace in progress (some microseconds). Empty when null is current.
  ReadPin Pin() const;

  // Puts `next` in place of what is current if nobody pins that, and returns it to the caller, who frees it. On a live
  // pin nothing changes and null is returned. Null that is current is always replaced, and returned.
  Pinnable* TryReplace(Pinnable* next);

  // Ends: null becomes current; what was current is freed now, or by the last pin on it. Never waits.
  void Abandon();

 private:
  std::atomic<Pinnable*> current_;
  std::atomic<bool> replacing_{false};
};

// Deletes what TryReplace returned.
void DestroyUnpinned(Pinnable* pinnable);

}  // namespace strongbin
