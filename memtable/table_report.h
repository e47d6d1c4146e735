// How the numbers of a table come to the statistics page.
#pragma once

#include <algorithm>
#include <cstdint>

#include "strongbin/pool/chunk_supply.h"
#include "strongbin/stats/page_share.h"

namespace strongbin {

// Sets the gauges of one kind of chunks.
inline void SetKindBytes(TableStats* stats, ChunkKind kind, size_t used, size_t reserved, size_t abandoned) {
  const auto i = static_cast<size_t>(kind);
  stats->used_bytes[i] = used;
  stats->reserved_bytes[i] = reserved;
  stats->abandoned_bytes[i] = abandoned;
  stats->peak_bytes[i] = std::max<uint64_t>(stats->peak_bytes[i], reserved);
}

// Adds what the writers of one generation have done to the page, every kStep entries and when asked. What readers do
// (runs) is OrderedRuns' to tell.
//
// Thread safety: one writer at a time. Cost: nothing per entry: callers ask where they are on a rare path already. A
// report is some hundred nanoseconds; without a page it is a load.
class TableReport {
 public:
  static constexpr uint64_t kStep = 256;

  // Adds the numbers of the generation that is to be reported on.
  using AddTo = void (*)(const void* generation, TableStats* stats);
  // Both may be null: then nothing is told.
  TableReport(AddTo add_to, const void* generation) : add_to_(add_to), generation_(generation) {}
  TableReport(const TableReport&) = delete;
  TableReport& operator=(const TableReport&) = delete;

  // The writer has come to `entry_count` entries.
  void OnProgress(uint64_t entry_count) {
    if (stats_internal::CurrentPage() != nullptr && entry_count >= share_.due()) [[unlikely]]
      Report(entry_count);
  }
  [[gnu::cold, gnu::noinline]] void Report(uint64_t entry_count) {
    if (add_to_ == nullptr || stats_internal::CurrentPage() == nullptr) return;
    TableStats now;
    add_to_(generation_, &now);
    share_.Publish(now, entry_count + kStep);
  }
  // The generation ends, while it still has all it had.
  void End() {
    if (add_to_ == nullptr || stats_internal::CurrentPage() == nullptr) return;
    TableStats last;
    add_to_(generation_, &last);
    share_.Leave(last);
  }

 private:
  const AddTo add_to_;
  const void* const generation_;
  stats_internal::PageShare<TableMetrics> share_;
};

}  // namespace strongbin
