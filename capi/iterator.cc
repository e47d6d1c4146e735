#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "strongbin/c.h"
#include "strongbin/capi/handles.h"
#include "strongbin/memtable/memtable_iterator.h"
#include "strongbin/memtable/types.h"

namespace {

// The bounds are the iterator's own: bindings cannot promise how long their strings live.
struct Bound {
  Bound(const char* data, size_t bytes) : is_set(data != nullptr), text(is_set ? std::string(data, bytes) : "") {}
  std::string_view View() const { return is_set ? std::string_view(text) : std::string_view(); }

  const bool is_set;
  const std::string text;
};

}  // namespace

struct strongbin_iterator {
  strongbin_iterator(strongbin_table* table, const strongbin_iterator_options& options)
      : user(table->user.pool()),
        lower_bound(options.lower_bound, options.lower_bound_bytes),
        upper_bound(options.upper_bound, options.upper_bound_bytes),
        iterator(table->table.NewIterator({.snapshot = options.snapshot,
                                           .lower_bound = lower_bound.View(),
                                           .upper_bound = upper_bound.View(),
                                           .all_versions = options.all_versions == 1})) {}

  strongbin::capi::PoolUser user;  // ends last
  Bound lower_bound;
  Bound upper_bound;
  strongbin::MemtableIterator iterator;
};

namespace {

template <class Move>
int Moved(strongbin_iterator* iterator, Move&& move) {
  if (iterator == nullptr) return 0;
  move(iterator->iterator);
  return iterator->iterator.Valid() ? 1 : 0;
}

}  // namespace

extern "C" {

strongbin_status strongbin_iterator_create(strongbin_table* table, const strongbin_iterator_options* options,
                                           strongbin_iterator** iterator) {
  strongbin_iterator_options chosen = STRONGBIN_ITERATOR_OPTIONS_INIT;
  constexpr size_t kFirstBytes = offsetof(strongbin_iterator_options, reserved) + sizeof(chosen.reserved);
  if (table == nullptr || iterator == nullptr || !strongbin::capi::ReadOptionsInto(options, kFirstBytes, &chosen) ||
      chosen.all_versions > 1 || (chosen.lower_bound == nullptr && chosen.lower_bound_bytes > 0) ||
      (chosen.upper_bound == nullptr && chosen.upper_bound_bytes > 0)) {
    return STRONGBIN_INVALID_ARGUMENT;
  }
  return strongbin::capi::Guarded([&] {
    *iterator = new strongbin_iterator(table, chosen);
    return STRONGBIN_OK;
  });
}

void strongbin_iterator_destroy(strongbin_iterator* iterator) { delete iterator; }

int strongbin_iterator_seek_to_first(strongbin_iterator* iterator) {
  return Moved(iterator, [](strongbin::MemtableIterator& it) { it.SeekToFirst(); });
}

int strongbin_iterator_seek_to_last(strongbin_iterator* iterator) {
  return Moved(iterator, [](strongbin::MemtableIterator& it) { it.SeekToLast(); });
}

int strongbin_iterator_seek(strongbin_iterator* iterator, const char* key, size_t key_bytes) {
  if (key == nullptr && key_bytes > 0) return 0;
  return Moved(iterator, [&](strongbin::MemtableIterator& it) { it.Seek({key, key_bytes}); });
}

int strongbin_iterator_seek_for_prev(strongbin_iterator* iterator, const char* key, size_t key_bytes) {
  if (key == nullptr && key_bytes > 0) return 0;
  return Moved(iterator, [&](strongbin::MemtableIterator& it) { it.SeekForPrev({key, key_bytes}); });
}

int strongbin_iterator_next(strongbin_iterator* iterator) {
  return Moved(iterator, [](strongbin::MemtableIterator& it) {
    if (it.Valid()) it.Next();
  });
}

int strongbin_iterator_prev(strongbin_iterator* iterator) {
  return Moved(iterator, [](strongbin::MemtableIterator& it) {
    if (it.Valid()) it.Prev();
  });
}

strongbin_status strongbin_iterator_status(const strongbin_iterator* iterator) {
  return iterator == nullptr ? STRONGBIN_INVALID_ARGUMENT : strongbin::capi::ToC(iterator->iterator.status());
}

strongbin_status strongbin_iterator_entry(const strongbin_iterator* iterator, strongbin_entry* entry) {
  if (iterator == nullptr || entry == nullptr) return STRONGBIN_INVALID_ARGUMENT;
  const strongbin::MemtableIterator& it = iterator->iterator;
  if (!it.Valid()) return STRONGBIN_NOT_FOUND;
  const std::string_view key = it.key();
  const std::string_view value = it.value();
  *entry = {.key = key.data(),
            .key_bytes = key.size(),
            .value = value.data(),
            .value_bytes = value.size(),
            .sequence = it.sequence(),
            .kind = static_cast<uint32_t>(it.kind()),
            .reserved = 0};
  return STRONGBIN_OK;
}

}  // extern "C"
