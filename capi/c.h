// The memtable for engines and bindings that do not speak C++: C11 and everything that can call it.
//
// Ownership: what a *_create, *_open or *_start function puts into a handle belongs to the caller, who gives it to the
// function that ends it, once. Whatever else a function hands out by pointer is a view, or says who frees it.
// Lifetime: keys, values and options are read during the call and copied. A pool must outlive its tables; a table may
// end before its iterators and pins.
// Thread safety: a pool and a table may be used from any thread at once (a table made with single_writer but for
// writes and resets); an iterator, pin or monitor by one thread at a time. Making a handle and ending it: one thread,
// when nobody else is using it.
// Errors: a status, and then nothing has changed; out-parameters are written on STRONGBIN_OK alone unless said
// otherwise. No exception, signal or exit leaves this interface. A null handle, or null with a length, is
// STRONGBIN_INVALID_ARGUMENT where a status is returned, and does nothing elsewhere.
// Cost: that of the C++ interface and a call; put, get and the iterator allocate nothing.
//
// ABI: numbers never change their meaning. Structs of options begin with their size, so that programs and libraries of
// different age understand each other: fields may be added at the end, with 0 meaning what was before.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version of this header, and of the library that runs. A library serves every program that was built with a
// header of its own version or an older one.
#define STRONGBIN_C_VERSION 1
uint32_t strongbin_c_version(void);

typedef enum strongbin_status {
  STRONGBIN_OK = 0,
  STRONGBIN_NOT_FOUND = 1,         // no version of the key at or below the snapshot
  STRONGBIN_DUPLICATE = 2,         // the table has this key with this sequence number
  STRONGBIN_INVALID_ARGUMENT = 3,  // too long, out of range, null with a length, options of an unknown size
  STRONGBIN_FROZEN = 4,            // write to a frozen table
  STRONGBIN_CLOSED = 5,            // the table has ended, for instance under an iterator
  STRONGBIN_BUSY = 6,              // reset or drop while a pin or iterator is open; end of a pool that is in use
  STRONGBIN_OUT_OF_MEMORY = 7,     // the operating system refused memory
  STRONGBIN_OVER_BUDGET = 8,       // the write would pass the hard budget
  STRONGBIN_TOO_MANY_ENTRIES = 9,  // the table holds as many entries as it can number
  STRONGBIN_ABORTED = 10,          // reserved: the C++ interface answers it where a callback gives up
  STRONGBIN_CORRUPTION = 11,       // what is read is not what was written
  STRONGBIN_NOT_SUPPORTED = 12,    // this system does not offer it
  STRONGBIN_TOO_SMALL = 13         // the caller's buffer is
} strongbin_status;

// A sentence for people; a literal, also for numbers that this library does not know.
const char* strongbin_status_text(strongbin_status status);

// ---- Pools ----

// Where the memory of tables comes from and goes back to: a bounded pool of chunks.
typedef struct strongbin_pool strongbin_pool;

typedef struct strongbin_pool_options {
  size_t struct_bytes;  // sizeof(strongbin_pool_options); see STRONGBIN_POOL_OPTIONS_INIT
  size_t cap_bytes;     // bound on idle bytes; 0: every chunk is mapped fresh and given back
  uint64_t decay_ms;    // idle chunks leave after this time; 0: they stay
  uint32_t use_malloc;  // 1: memory of malloc instead of mappings, for allocation profilers
  uint32_t reserved;    // 0
} strongbin_pool_options;
#define STRONGBIN_POOL_OPTIONS_INIT \
  { sizeof(strongbin_pool_options), (size_t)64 << 20, 0, 0, 0 }

// Null options: those of STRONGBIN_POOL_OPTIONS_INIT.
strongbin_status strongbin_pool_create(const strongbin_pool_options* options, strongbin_pool** pool);
// STRONGBIN_BUSY while a table, pin or iterator still holds memory of it; it then lives on.
strongbin_status strongbin_pool_destroy(strongbin_pool* pool);
// The pool of the process. It lives as long as the process does; strongbin_pool_destroy answers
// STRONGBIN_INVALID_ARGUMENT. Call it once before other threads begin in a program that forks while they run: the child
// cannot end what another thread had begun to make.
strongbin_pool* strongbin_pool_of_process(void);

strongbin_status strongbin_pool_set_cap_bytes(strongbin_pool* pool, size_t cap_bytes);
// STRONGBIN_NOT_SUPPORTED: no thread can be had for it.
strongbin_status strongbin_pool_set_decay_ms(strongbin_pool* pool, uint64_t decay_ms);
// Gives the pool's idle chunks to the operating system, because memory is short. Returns the bytes given back.
size_t strongbin_pool_relieve_pressure(strongbin_pool* pool);

// The same for every pool of the process and all that hangs on its pressure hook.
size_t strongbin_relieve_memory_pressure(void);

// Calls strongbin_relieve_memory_pressure when Linux tells of a shortage of memory.
typedef struct strongbin_monitor strongbin_monitor;
// `report`, if not null, gets a sentence for strongbin_text_free in any case: which files are watched and why others
// are not. STRONGBIN_NOT_SUPPORTED: none can be.
strongbin_status strongbin_monitor_start(strongbin_monitor** monitor, char** report);
void strongbin_monitor_stop(strongbin_monitor* monitor);

// ---- Tables ----

// The newest writes of an engine, by key; see AppendOnlyMemtable of the C++ interface, which this is.
typedef struct strongbin_table strongbin_table;

// Sequence numbers belong to the caller: each (key, sequence) once, larger is newer. A snapshot sees what is at or
// below it.
#define STRONGBIN_MAX_SEQUENCE (((uint64_t)1 << 56) - 1)

typedef struct strongbin_table_options {
  size_t struct_bytes;       // sizeof(strongbin_table_options); see STRONGBIN_TABLE_OPTIONS_INIT
  strongbin_pool* pool;      // null: that of the process
  size_t freeze_bytes;       // strongbin_table_should_freeze says yes from here on
  size_t hard_budget_bytes;  // a write beyond answers STRONGBIN_OVER_BUDGET; 0: no such bound
  uint64_t base_entries;     // what each generation is expected to hold at least; 0: unknown
  uint64_t base_key_bytes;
  uint64_t base_value_bytes;
  uint32_t pool_at_end;       // the pool's idle chunks: 0 stay, 1 leave with its last table, 2 leave with this one
  uint32_t single_writer;     // 1: the caller sees to it that one thread at a time writes, freezes or resets
  uint32_t checksum_entries;  // 1: keep a checksum with every entry and verify it on each read
  uint32_t reserved;          // 0
} strongbin_table_options;
#define STRONGBIN_TABLE_OPTIONS_INIT \
  { sizeof(strongbin_table_options), 0, (size_t)64 << 20, 0, 0, 0, 0, 0, 0, 0, 0 }

// Null options: those of STRONGBIN_TABLE_OPTIONS_INIT.
strongbin_status strongbin_table_create(const strongbin_table_options* options, strongbin_table** table);
// What a pin or iterator still reads is freed by the last of them.
void strongbin_table_destroy(strongbin_table* table);

// Kinds are stored and returned; engines may use others up to 127.
#define STRONGBIN_KIND_DELETE 0u
#define STRONGBIN_KIND_PUT 1u
#define STRONGBIN_KIND_MERGE 2u

typedef struct strongbin_entry {
  const char* key;
  size_t key_bytes;
  const char* value;
  size_t value_bytes;
  uint64_t sequence;
  uint32_t kind;
  uint32_t reserved;  // 0
} strongbin_entry;

strongbin_status strongbin_table_put(strongbin_table* table, const char* key, size_t key_bytes, uint64_t sequence,
                                     const char* value, size_t value_bytes);
strongbin_status strongbin_table_delete(strongbin_table* table, const char* key, size_t key_bytes, uint64_t sequence);
// All of them or none.
strongbin_status strongbin_table_append(strongbin_table* table, const strongbin_entry* entries, size_t count);

// The newest version at or below the snapshot; a tombstone is an answer (STRONGBIN_OK, kind STRONGBIN_KIND_DELETE).
// found->key is the caller's own; found->value is the table's and lives until the table is reset, dropped or destroyed,
// which a pin keeps from happening.
strongbin_status strongbin_table_get(strongbin_table* table, const char* key, size_t key_bytes, uint64_t snapshot,
                                     strongbin_entry* found);
// The same, but the value is copied to `buffer`, safely beside resets on other threads. found->value is `buffer`.
// STRONGBIN_TOO_SMALL: found->value_bytes tells the bytes needed, and `buffer` is as it was.
strongbin_status strongbin_table_get_copy(strongbin_table* table, const char* key, size_t key_bytes, uint64_t snapshot,
                                          char* buffer, size_t buffer_bytes, strongbin_entry* found);

// Keeps the table's memory from being reset while it lives. STRONGBIN_OUT_OF_MEMORY: nothing is kept.
typedef struct strongbin_pin strongbin_pin;
strongbin_status strongbin_pin_create(strongbin_table* table, strongbin_pin** pin);
void strongbin_pin_destroy(strongbin_pin* pin);

// Ends writing.
strongbin_status strongbin_table_freeze(strongbin_table* table);
// 1 or 0.
int strongbin_table_should_freeze(const strongbin_table* table);
uint64_t strongbin_table_entry_count(const strongbin_table* table);
// Bytes of all chunks held.
size_t strongbin_table_memory_bytes(const strongbin_table* table);

// What to do when a pin or iterator is open. Whoever waits must hold none himself.
#define STRONGBIN_RETURN_BUSY 0u
#define STRONGBIN_WAIT 1u
// Empties the table for reuse, frozen or not. Warm: its chunks go to the pool, for whoever asks next.
strongbin_status strongbin_table_reset(strongbin_table* table, uint32_t when_busy);
// Cold: they go to the operating system, and the resident size of the process falls.
strongbin_status strongbin_table_drop(strongbin_table* table, uint32_t when_busy);

// ---- Iterators ----

// Walks a table in order: keys ascending, versions of a key newest first. Holds a pin.
typedef struct strongbin_iterator strongbin_iterator;

typedef struct strongbin_iterator_options {
  size_t struct_bytes;      // sizeof(strongbin_iterator_options); see STRONGBIN_ITERATOR_OPTIONS_INIT
  uint64_t snapshot;        // what is newer is not shown
  const char* lower_bound;  // keys below are not shown; null: no bound
  size_t lower_bound_bytes;
  const char* upper_bound;  // keys at or above are not shown; null: no bound
  size_t upper_bound_bytes;
  uint32_t all_versions;  // 1: every version, as a flush wants it; 0: the newest of each key, tombstones included
  uint32_t reserved;      // 0
} strongbin_iterator_options;
#define STRONGBIN_ITERATOR_OPTIONS_INIT \
  { sizeof(strongbin_iterator_options), STRONGBIN_MAX_SEQUENCE, 0, 0, 0, 0, 0, 0 }

// At first not positioned. Null options: those of STRONGBIN_ITERATOR_OPTIONS_INIT.
strongbin_status strongbin_iterator_create(strongbin_table* table, const strongbin_iterator_options* options,
                                           strongbin_iterator** iterator);
void strongbin_iterator_destroy(strongbin_iterator* iterator);

// Each returns 1 if the iterator is at an entry afterwards, else 0; then strongbin_iterator_status tells an end
// (STRONGBIN_OK) from a failure. Next and prev of an iterator at no entry do nothing.
int strongbin_iterator_seek_to_first(strongbin_iterator* iterator);
int strongbin_iterator_seek_to_last(strongbin_iterator* iterator);
// The first entry at or after the key, and the last key at or before it.
int strongbin_iterator_seek(strongbin_iterator* iterator, const char* key, size_t key_bytes);
int strongbin_iterator_seek_for_prev(strongbin_iterator* iterator, const char* key, size_t key_bytes);
int strongbin_iterator_next(strongbin_iterator* iterator);
int strongbin_iterator_prev(strongbin_iterator* iterator);
strongbin_status strongbin_iterator_status(const strongbin_iterator* iterator);
// The entry here; its views live at least as long as the iterator. STRONGBIN_NOT_FOUND: the iterator is at none.
strongbin_status strongbin_iterator_entry(const strongbin_iterator* iterator, strongbin_entry* entry);

// ---- Statistics ----

#define STRONGBIN_TEXT 0u
#define STRONGBIN_JSON 1u
#define STRONGBIN_PROMETHEUS 2u
// A snapshot in one of the three forms; zero-terminated, for strongbin_text_free. `name` becomes the label that tells
// one from another.
strongbin_status strongbin_pool_stats(const strongbin_pool* pool, uint32_t form, const char* name, char** text);
strongbin_status strongbin_table_stats(const strongbin_table* table, uint32_t form, const char* name, char** text);
void strongbin_text_free(char* text);

// One number by its name in stats/metrics.def, for instance "hits": the sum over its labels, of a maximum the largest.
// STRONGBIN_NOT_FOUND: there is none of that name.
strongbin_status strongbin_pool_stat(const strongbin_pool* pool, const char* name, uint64_t* value);
strongbin_status strongbin_table_stat(const strongbin_table* table, const char* name, uint64_t* value);

#ifdef __cplusplus
}
#endif
