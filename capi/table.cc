#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "strongbin/c.h"
#include "strongbin/capi/handles.h"
#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/memtable/read_pin.h"
#include "strongbin/memtable/types.h"

struct strongbin_pin {
  strongbin_pin(strongbin_pool* pool, strongbin::ReadPin read_pin) : user(pool), pin(std::move(read_pin)) {}

  strongbin::capi::PoolUser user;  // ends last
  strongbin::ReadPin pin;
};

using strongbin::capi::Guarded;
using strongbin::capi::ToC;

namespace {

static_assert(STRONGBIN_MAX_SEQUENCE == strongbin::kMaxSequence);
constexpr uint32_t kMaxKind = 127;
static_assert(static_cast<int>(strongbin::PoolAtEnd::kKeep) == 0 &&
              static_cast<int>(strongbin::PoolAtEnd::kDropWhenLast) == 1 &&
              static_cast<int>(strongbin::PoolAtEnd::kDrop) == 2);
static_assert(static_cast<int>(strongbin::EntryKind::kDelete) == STRONGBIN_KIND_DELETE &&
              static_cast<int>(strongbin::EntryKind::kPut) == STRONGBIN_KIND_PUT &&
              static_cast<int>(strongbin::EntryKind::kMerge) == STRONGBIN_KIND_MERGE);

strongbin_entry EntryOf(const strongbin::LookupResult& found, const char* key, size_t key_bytes) {
  return {.key = key,
          .key_bytes = key_bytes,
          .value = found.value.data(),
          .value_bytes = found.value.size(),
          .sequence = found.sequence,
          .kind = static_cast<uint32_t>(found.kind),
          .reserved = 0};
}

bool ReadWhenBusy(uint32_t number, strongbin::WhenBusy* when_busy) {
  if (number != STRONGBIN_RETURN_BUSY && number != STRONGBIN_WAIT) return false;
  *when_busy = number == STRONGBIN_WAIT ? strongbin::WhenBusy::kWait : strongbin::WhenBusy::kReturn;
  return true;
}

}  // namespace

extern "C" {

strongbin_status strongbin_table_create(const strongbin_table_options* options, strongbin_table** table) {
  strongbin_table_options chosen = STRONGBIN_TABLE_OPTIONS_INIT;
  constexpr size_t kFirstBytes = offsetof(strongbin_table_options, reserved) + sizeof(chosen.reserved);
  if (table == nullptr || !strongbin::capi::ReadOptionsInto(options, kFirstBytes, &chosen) || chosen.pool_at_end > 2 ||
      chosen.single_writer > 1 || chosen.checksum_entries > 1) {
    return STRONGBIN_INVALID_ARGUMENT;
  }
  return Guarded([&] {
    strongbin_pool* const pool = chosen.pool != nullptr ? chosen.pool : strongbin_pool_of_process();
    *table = new strongbin_table(
        pool, {.pool = pool->pool,
               .pool_at_end = static_cast<strongbin::PoolAtEnd>(chosen.pool_at_end),
               .freeze_bytes = chosen.freeze_bytes,
               .hard_budget_bytes = chosen.hard_budget_bytes,
               .base_capacity = {chosen.base_entries, chosen.base_key_bytes, chosen.base_value_bytes},
               .concurrent_writers = chosen.single_writer == 0,
               .checksum_entries = chosen.checksum_entries == 1});
    return STRONGBIN_OK;
  });
}

void strongbin_table_destroy(strongbin_table* table) { delete table; }

strongbin_status strongbin_table_put(strongbin_table* table, const char* key, size_t key_bytes, uint64_t sequence,
                                     const char* value, size_t value_bytes) {
  if (table == nullptr) return STRONGBIN_INVALID_ARGUMENT;
  return ToC(table->table.Put({key, key_bytes}, sequence, {value, value_bytes}));
}

strongbin_status strongbin_table_delete(strongbin_table* table, const char* key, size_t key_bytes, uint64_t sequence) {
  if (table == nullptr) return STRONGBIN_INVALID_ARGUMENT;
  return ToC(table->table.Delete({key, key_bytes}, sequence));
}

strongbin_status strongbin_table_append(strongbin_table* table, const strongbin_entry* entries, size_t count) {
  if (table == nullptr || (entries == nullptr && count > 0)) return STRONGBIN_INVALID_ARGUMENT;
  for (size_t i = 0; i < count; ++i) {
    if (entries[i].kind > kMaxKind || entries[i].reserved != 0) return STRONGBIN_INVALID_ARGUMENT;
  }
  return ToC(table->table.AppendProduced(count, [entries](size_t i, strongbin::Write* write) {
    const strongbin_entry& entry = entries[i];
    *write = {.key = {entry.key, entry.key_bytes},
              .sequence = entry.sequence,
              .value = {entry.value, entry.value_bytes},
              .kind = static_cast<strongbin::EntryKind>(entry.kind)};
    return true;
  }));
}

strongbin_status strongbin_table_get(strongbin_table* table, const char* key, size_t key_bytes, uint64_t snapshot,
                                     strongbin_entry* found) {
  if (table == nullptr || found == nullptr) return STRONGBIN_INVALID_ARGUMENT;
  const strongbin::LookupResult result = table->table.Get({key, key_bytes}, snapshot);
  if (result.found()) *found = EntryOf(result, key, key_bytes);
  return ToC(result.status);
}

strongbin_status strongbin_table_get_copy(strongbin_table* table, const char* key, size_t key_bytes, uint64_t snapshot,
                                          char* buffer, size_t buffer_bytes, strongbin_entry* found) {
  if (table == nullptr || found == nullptr || (buffer == nullptr && buffer_bytes > 0))
    return STRONGBIN_INVALID_ARGUMENT;
  const strongbin::ReadPin pin = table->table.Pin();
  if (!pin) return STRONGBIN_OUT_OF_MEMORY;
  const strongbin::LookupResult result = table->table.Get({key, key_bytes}, snapshot);
  if (!result.found()) return ToC(result.status);
  *found = EntryOf(result, key, key_bytes);
  found->value = buffer;
  if (result.value.size() > buffer_bytes) return STRONGBIN_TOO_SMALL;
  result.value.copy(buffer, buffer_bytes);
  return STRONGBIN_OK;
}

strongbin_status strongbin_pin_create(strongbin_table* table, strongbin_pin** pin) {
  if (table == nullptr || pin == nullptr) return STRONGBIN_INVALID_ARGUMENT;
  return Guarded([&] {
    auto made = std::make_unique<strongbin_pin>(table->user.pool(), table->table.Pin());
    if (!made->pin) return STRONGBIN_OUT_OF_MEMORY;
    *pin = made.release();
    return STRONGBIN_OK;
  });
}

void strongbin_pin_destroy(strongbin_pin* pin) { delete pin; }

strongbin_status strongbin_table_freeze(strongbin_table* table) {
  if (table == nullptr) return STRONGBIN_INVALID_ARGUMENT;
  table->table.Freeze();
  return STRONGBIN_OK;
}

int strongbin_table_should_freeze(const strongbin_table* table) {
  return table != nullptr && table->table.ShouldFreeze() ? 1 : 0;
}

uint64_t strongbin_table_entry_count(const strongbin_table* table) {
  return table == nullptr ? 0 : table->table.entry_count();
}

size_t strongbin_table_memory_bytes(const strongbin_table* table) {
  return table == nullptr ? 0 : table->table.MemoryUsage();
}

strongbin_status strongbin_table_reset(strongbin_table* table, uint32_t when_busy) {
  strongbin::WhenBusy when;
  if (table == nullptr || !ReadWhenBusy(when_busy, &when)) return STRONGBIN_INVALID_ARGUMENT;
  return ToC(table->table.ResetWarm(when));
}

strongbin_status strongbin_table_drop(strongbin_table* table, uint32_t when_busy) {
  strongbin::WhenBusy when;
  if (table == nullptr || !ReadWhenBusy(when_busy, &when)) return STRONGBIN_INVALID_ARGUMENT;
  return ToC(table->table.ResetCold(when));
}

}  // extern "C"
