#include "strongbin/tools/dbbench/selfcheck_tools.h"

namespace strongbin::dbbench {

std::unique_ptr<ChunkPool> NewSelfcheckPool(bool huge_pages) {
  ChunkPoolOptions options;
  options.cap_bytes = size_t{256} << 20;
  options.cold_start.huge_pages = huge_pages;
  return std::make_unique<ChunkPool>(options);
}

bool PutRange(AppendOnlyMemtable* table, const Entries& entries, size_t first, size_t end, size_t batch_entries,
              std::atomic<Sequence>* sequences) {
  std::vector<Write> batch(batch_entries);
  for (size_t i = first; i < end;) {
    const size_t count = std::min(batch_entries, end - i);
    const Sequence first_sequence = sequences != nullptr ? sequences->fetch_add(count) : i + 1;
    for (size_t j = 0; j < count; ++j, ++i) {
      batch[j] = Write{.key = entries.key(i), .sequence = first_sequence + j, .value = entries.value(i)};
    }
    const Status status = count == 1 ? table->Append(batch[0]) : table->AppendBatch({batch.data(), count});
    if (!status.ok()) return false;
  }
  return true;
}

}  // namespace strongbin::dbbench
