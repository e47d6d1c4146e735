#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "strongbin/c.h"
#include "strongbin/capi/handles.h"
#include "strongbin/stats/export.h"
#include "strongbin/stats/snapshot.h"

namespace {

// `handle` is a pool or a table; stats() takes the snapshot.
template <class Handle, class Take>
strongbin_status Export(const Handle* handle, Take&& stats, const char* label, uint32_t form, const char* name,
                        char** text) {
  if (handle == nullptr || name == nullptr || text == nullptr || form > STRONGBIN_PROMETHEUS) {
    return STRONGBIN_INVALID_ARGUMENT;
  }
  return strongbin::capi::Guarded([&] {
    const auto snapshot = stats();
    const strongbin::StatsLabels labels = {{label, name}};
    char* const copy = strongbin::capi::CopyText(form == STRONGBIN_TEXT   ? strongbin::ToText(snapshot, labels)
                                                 : form == STRONGBIN_JSON ? strongbin::ToJson(snapshot, labels)
                                                                          : strongbin::ToPrometheus(snapshot, labels));
    if (copy == nullptr) return STRONGBIN_OUT_OF_MEMORY;
    *text = copy;
    return STRONGBIN_OK;
  });
}

template <class Handle, class Take>
strongbin_status Look(const Handle* handle, Take&& stats, const char* name, uint64_t* value) {
  if (handle == nullptr || name == nullptr || value == nullptr) return STRONGBIN_INVALID_ARGUMENT;
  strongbin_status status = STRONGBIN_NOT_FOUND;
  const auto snapshot = stats();
  strongbin::ForEachMetric(
      [&](const strongbin::MetricInfo& info, std::span<const uint64_t> values) {
        if (info.name != name) return;
        const auto sum = strongbin::SumOf(info, values);
        *value = sum.has_value() ? *sum : *std::max_element(values.begin(), values.end());
        status = STRONGBIN_OK;
      },
      snapshot);
  return status;
}

}  // namespace

extern "C" {

strongbin_status strongbin_pool_stats(const strongbin_pool* pool, uint32_t form, const char* name, char** text) {
  return Export(
      pool, [pool] { return pool->pool->Stats(); }, "pool", form, name, text);
}

strongbin_status strongbin_table_stats(const strongbin_table* table, uint32_t form, const char* name, char** text) {
  return Export(
      table, [table] { return table->table.Stats(); }, "table", form, name, text);
}

strongbin_status strongbin_pool_stat(const strongbin_pool* pool, const char* name, uint64_t* value) {
  return Look(
      pool, [pool] { return pool->pool->Stats(); }, name, value);
}

strongbin_status strongbin_table_stat(const strongbin_table* table, const char* name, uint64_t* value) {
  return Look(
      table, [table] { return table->table.Stats(); }, name, value);
}

}  // extern "C"
