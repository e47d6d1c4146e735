#include "strongbin/tools/dbbench/selfcheck_tools.h"

namespace strongbin::dbbench {

std::unique_ptr<ChunkPool> NewSelfcheckPool(bool huge_pages) {
  ChunkPoolOptions options;
  options.cap_bytes = size_t{256} << 20;
  options.cold_start.huge_pages = huge_pages;
  return std::make_unique<ChunkPool>(options);
}

bool PutAll(AppendOnlyMemtable* table, const Entries& entries, size_t batch_entries) {
  std::vector<Write> batch(batch_entries);
  for (size_t i = 0; i < entries.count();) {
    const size_t count = std::min(batch_entries, entries.count() - i);
    for (size_t j = 0; j < count; ++j, ++i) {
      batch[j] = Write{.key = entries.key(i), .sequence = i + 1, .value = entries.value(i)};
    }
    const Status status = count == 1 ? table->Append(batch[0]) : table->AppendBatch({batch.data(), count});
    if (!status.ok()) return false;
  }
  return true;
}

}  // namespace strongbin::dbbench
