#include <cstdint>
#include <span>
#include <string>

#include "strongbin/c.h"
#include "strongbin/capi/handles.h"
#include "strongbin/stats/export.h"
#include "strongbin/stats/snapshot.h"

namespace {

// `handle` is a pool or a table; take_snapshot() is called once it is known not to be null.
template <class Handle, class Take>
strongbin_status Export(const Handle* handle, Take&& take_snapshot, const char* label, uint32_t form, const char* name,
                        char** text) {
  if (handle == nullptr || name == nullptr || text == nullptr || form > STRONGBIN_PROMETHEUS) {
    return STRONGBIN_INVALID_ARGUMENT;
  }
  return strongbin::capi::Guarded([&] {
    const auto snapshot = take_snapshot();
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
strongbin_status Look(const Handle* handle, Take&& take_snapshot, const char* name, uint64_t* value) {
  if (handle == nullptr || name == nullptr || value == nullptr) return STRONGBIN_INVALID_ARGUMENT;
  strongbin_status status = STRONGBIN_NOT_FOUND;
  const auto snapshot = take_snapshot();
  strongbin::ForEachMetric(
      [&](const strongbin::MetricInfo& info, std::span<const uint64_t> values) {
        if (info.name != name) return;
        *value = strongbin::SumOrLargest(info, values);
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
