// What a MemtableIterator is made of.
#pragma once

#include <optional>
#include <string_view>

#include "strongbin/memtable/memtable_iterator.h"
#include "strongbin/memtable/ordered_cursor.h"
#include "strongbin/memtable/read_pin.h"
#include "strongbin/memtable/table_state.h"
#include "strongbin/memtable/types.h"

namespace strongbin {

// Shows of all entries those that options ask for: bounds, snapshot, newest versions. Ownership, thread safety,
// lifetimes, errors and cost: see MemtableIterator.
//
// Invariant: while Valid, the cursor stands at the current entry, or, when cursor_is_before_current_, at the entry
// before it (or has run off the front): walking backwards must look one entry ahead to know the newest version of a
// key.
class MemtableIterator::Impl {
 public:
  // `without_pin` is the status of an iterator whose pin is empty.
  Impl(ReadPin pin, Status without_pin, const ReadOptions& options);

  bool Valid() const { return current_ != nullptr; }
  Status status() const { return status_; }
  const Entry& entry() const { return *current_; }

  void SeekToFirst();
  void SeekToLast();
  void Seek(std::string_view key);
  void SeekForPrev(std::string_view key);
  void Next();
  void Prev();

 private:
  // Versions that are stepped over one by one before a search is made instead.
  static constexpr int kMaxSteps = 8;

  bool HasLower() const { return options_.lower_bound.data() != nullptr; }
  bool HasUpper() const { return options_.upper_bound.data() != nullptr; }
  bool Refresh();
  void PassVersionsForward(std::string_view key);
  void SettleForward();
  void SettleBackward();
  void ShowNewestBackward(std::string_view key);
  void Show(const Entry& entry, uint32_t handle);

  const ReadPin pin_;
  const TableState* const state_;
  const ReadOptions options_;
  std::optional<OrderedCursor<EntryFace>> cursor_;  // none on a table that had been released
  const Entry* current_ = nullptr;
  bool cursor_is_before_current_ = false;
  Status status_;
};

}  // namespace strongbin
