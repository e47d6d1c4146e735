// The C interface from plain C: what each group of functions promises.
#include "strongbin/c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failure_count = 0;

static void Check(int holds, const char* what, int line) {
  if (holds) return;
  ++failure_count;
  fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, line, what);
}
#define CHECK(condition) Check((condition), #condition, __LINE__)

static strongbin_table* NewTable(strongbin_pool* pool) {
  strongbin_table_options options = STRONGBIN_TABLE_OPTIONS_INIT;
  options.pool = pool;
  strongbin_table* table = NULL;
  CHECK(strongbin_table_create(&options, &table) == STRONGBIN_OK);
  if (table == NULL) exit(1);
  return table;
}

static strongbin_pool* NewPool(void) {
  strongbin_pool* pool = NULL;
  CHECK(strongbin_pool_create(NULL, &pool) == STRONGBIN_OK);
  if (pool == NULL) exit(1);
  return pool;
}

static void Put(strongbin_table* table, const char* key, uint64_t sequence, const char* value) {
  CHECK(strongbin_table_put(table, key, strlen(key), sequence, value, strlen(value)) == STRONGBIN_OK);
}

static int Holds(const strongbin_entry* entry, const char* key, uint64_t sequence, const char* value) {
  return entry->key_bytes == strlen(key) && memcmp(entry->key, key, entry->key_bytes) == 0 &&
         entry->value_bytes == strlen(value) && memcmp(entry->value, value, entry->value_bytes) == 0 &&
         entry->sequence == sequence;
}

static uint64_t PoolStat(strongbin_pool* pool, const char* name) {
  uint64_t value = 0;
  CHECK(strongbin_pool_stat(pool, name, &value) == STRONGBIN_OK);
  return value;
}

static void NewestVersionAtOrBelowTheSnapshotIsFound(void) {
  strongbin_table* table = NewTable(NULL);
  strongbin_entry found;
  Put(table, "apple", 1, "red");
  Put(table, "apple", 3, "green");
  CHECK(strongbin_table_delete(table, "apple", 5, 5) == STRONGBIN_OK);
  CHECK(strongbin_table_get(table, "apple", 5, 4, &found) == STRONGBIN_OK && Holds(&found, "apple", 3, "green"));
  CHECK(strongbin_table_get(table, "apple", 5, 2, &found) == STRONGBIN_OK && Holds(&found, "apple", 1, "red"));
  CHECK(strongbin_table_get(table, "apple", 5, STRONGBIN_MAX_SEQUENCE, &found) == STRONGBIN_OK);
  CHECK(found.kind == STRONGBIN_KIND_DELETE && found.value_bytes == 0);
  CHECK(strongbin_table_get(table, "pear", 4, STRONGBIN_MAX_SEQUENCE, &found) == STRONGBIN_NOT_FOUND);
  strongbin_table_destroy(table);
}

static void CopyIsRefusedWhereItDoesNotFit(void) {
  strongbin_table* table = NewTable(NULL);
  strongbin_entry found;
  char buffer[4] = "abc";
  Put(table, "k", 1, "green");
  CHECK(strongbin_table_get_copy(table, "k", 1, 9, buffer, sizeof(buffer), &found) == STRONGBIN_TOO_SMALL);
  CHECK(found.value_bytes == 5 && strcmp(buffer, "abc") == 0);
  Put(table, "k", 2, "red!");
  CHECK(strongbin_table_get_copy(table, "k", 1, 9, buffer, sizeof(buffer), &found) == STRONGBIN_OK);
  CHECK(found.value == buffer && Holds(&found, "k", 2, "red!"));
  strongbin_table_destroy(table);
}

static void BatchIsAppendedWholeOrNotAtAll(void) {
  strongbin_table* table = NewTable(NULL);
  strongbin_entry batch[] = {{"a", 1, "1", 1, 1, STRONGBIN_KIND_PUT, 0},
                             {"b", 1, NULL, 0, 2, STRONGBIN_KIND_DELETE, 0}};
  CHECK(strongbin_table_append(table, batch, 2) == STRONGBIN_OK);
  CHECK(strongbin_table_entry_count(table) == 2);
  batch[0].sequence = 3;  // b@2 is there already
  CHECK(strongbin_table_append(table, batch, 2) == STRONGBIN_DUPLICATE);
  batch[1].sequence = 4;
  batch[1].kind = 128;
  CHECK(strongbin_table_append(table, batch, 2) == STRONGBIN_INVALID_ARGUMENT);
  CHECK(strongbin_table_entry_count(table) == 2);
  strongbin_table_destroy(table);
}

static void IteratorWalksBothWaysWithinItsBounds(void) {
  strongbin_table* table = NewTable(NULL);
  Put(table, "c", 1, "3");
  Put(table, "a", 2, "1");
  Put(table, "b", 3, "2");
  Put(table, "b", 4, "two");

  strongbin_iterator_options options = STRONGBIN_ITERATOR_OPTIONS_INIT;
  char bound[] = "b";
  options.lower_bound = bound;
  options.lower_bound_bytes = 1;
  options.all_versions = 1;
  strongbin_iterator* it = NULL;
  strongbin_entry entry;
  CHECK(strongbin_iterator_create(table, &options, &it) == STRONGBIN_OK);
  bound[0] = 'z';  // the iterator has its own copy
  CHECK(strongbin_iterator_entry(it, &entry) == STRONGBIN_NOT_FOUND);
  CHECK(strongbin_iterator_seek_to_first(it) == 1);
  CHECK(strongbin_iterator_entry(it, &entry) == STRONGBIN_OK && Holds(&entry, "b", 4, "two"));
  CHECK(strongbin_iterator_next(it) == 1 && strongbin_iterator_next(it) == 1);
  CHECK(strongbin_iterator_entry(it, &entry) == STRONGBIN_OK && Holds(&entry, "c", 1, "3"));
  CHECK(strongbin_iterator_next(it) == 0 && strongbin_iterator_next(it) == 0);
  CHECK(strongbin_iterator_status(it) == STRONGBIN_OK);
  CHECK(strongbin_iterator_seek_for_prev(it, "bb", 2) == 1);
  CHECK(strongbin_iterator_entry(it, &entry) == STRONGBIN_OK && Holds(&entry, "b", 3, "2"));
  CHECK(strongbin_iterator_prev(it) == 1 && strongbin_iterator_prev(it) == 0);
  CHECK(strongbin_iterator_seek_to_last(it) == 1 && strongbin_iterator_seek(it, "cc", 2) == 0);
  strongbin_iterator_destroy(it);
  strongbin_table_destroy(table);
}

static void FrozenTableRefusesWritesAndStaysReadable(void) {
  strongbin_table* table = NewTable(NULL);
  strongbin_entry found;
  Put(table, "a", 1, "1");
  CHECK(strongbin_table_should_freeze(table) == 0);
  CHECK(strongbin_table_freeze(table) == STRONGBIN_OK);
  CHECK(strongbin_table_put(table, "b", 1, 2, "2", 1) == STRONGBIN_FROZEN);
  CHECK(strongbin_table_get(table, "a", 1, 9, &found) == STRONGBIN_OK && Holds(&found, "a", 1, "1"));
  strongbin_table_destroy(table);
}

static void WarmResetKeepsChunksAndColdDropGivesThemBack(void) {
  strongbin_pool* pool = NewPool();
  strongbin_table* table = NewTable(pool);
  Put(table, "a", 1, "1");
  CHECK(strongbin_table_memory_bytes(table) > 0);
  CHECK(strongbin_table_reset(table, STRONGBIN_RETURN_BUSY) == STRONGBIN_OK);
  CHECK(strongbin_table_entry_count(table) == 0 && strongbin_table_memory_bytes(table) == 0);
  CHECK(PoolStat(pool, "idle_bytes") > 0);

  Put(table, "a", 2, "1");
  CHECK(PoolStat(pool, "hits") > 0);
  CHECK(strongbin_table_drop(table, STRONGBIN_RETURN_BUSY) == STRONGBIN_OK);
  CHECK(PoolStat(pool, "drops") > 0);

  Put(table, "a", 3, "1");
  CHECK(strongbin_table_reset(table, STRONGBIN_WAIT) == STRONGBIN_OK);
  CHECK(strongbin_pool_relieve_pressure(pool) > 0);
  CHECK(PoolStat(pool, "idle_bytes") == 0);
  CHECK(strongbin_table_reset(table, 2) == STRONGBIN_INVALID_ARGUMENT);
  strongbin_table_destroy(table);
  CHECK(strongbin_pool_destroy(pool) == STRONGBIN_OK);
}

static void PinKeepsViewsAndPoolAlive(void) {
  strongbin_pool* pool = NewPool();
  strongbin_table* table = NewTable(pool);
  strongbin_entry found;
  strongbin_pin* pin = NULL;
  Put(table, "a", 1, "value");
  CHECK(strongbin_pin_create(table, &pin) == STRONGBIN_OK);
  CHECK(strongbin_table_get(table, "a", 1, 9, &found) == STRONGBIN_OK);
  CHECK(strongbin_table_reset(table, STRONGBIN_RETURN_BUSY) == STRONGBIN_BUSY);
  strongbin_table_destroy(table);
  CHECK(memcmp(found.value, "value", found.value_bytes) == 0);
  CHECK(strongbin_pool_destroy(pool) == STRONGBIN_BUSY);
  strongbin_pin_destroy(pin);
  CHECK(strongbin_pool_destroy(pool) == STRONGBIN_OK);
}

static void OptionsOfOtherAgesAreTold(void) {
  struct {
    strongbin_table_options options;
    uint64_t of_a_later_version;
  } later = {STRONGBIN_TABLE_OPTIONS_INIT, 0};
  later.options.struct_bytes = sizeof(later);
  strongbin_table* table = NULL;
  CHECK(strongbin_table_create(&later.options, &table) == STRONGBIN_OK);
  strongbin_table_destroy(table);
  table = NULL;
  later.of_a_later_version = 1;
  CHECK(strongbin_table_create(&later.options, &table) == STRONGBIN_INVALID_ARGUMENT);
  later.options.struct_bytes = sizeof(size_t);
  CHECK(strongbin_table_create(&later.options, &table) == STRONGBIN_INVALID_ARGUMENT && table == NULL);
  CHECK(strongbin_c_version() == STRONGBIN_C_VERSION);
}

static void NullsAreRefused(void) {
  strongbin_entry found;
  uint64_t number = 0;
  char* text = NULL;
  strongbin_table* table = NewTable(NULL);
  CHECK(strongbin_table_put(NULL, "a", 1, 1, "1", 1) == STRONGBIN_INVALID_ARGUMENT);
  CHECK(strongbin_table_put(table, NULL, 1, 1, "1", 1) == STRONGBIN_INVALID_ARGUMENT);
  CHECK(strongbin_table_get(table, NULL, 1, 1, &found) == STRONGBIN_INVALID_ARGUMENT);
  CHECK(strongbin_table_append(table, NULL, 1) == STRONGBIN_INVALID_ARGUMENT);
  CHECK(strongbin_iterator_next(NULL) == 0 && strongbin_table_entry_count(NULL) == 0);
  CHECK(strongbin_table_stats(NULL, STRONGBIN_TEXT, "t", &text) == STRONGBIN_INVALID_ARGUMENT);
  CHECK(strongbin_table_stats(table, 3, "t", &text) == STRONGBIN_INVALID_ARGUMENT && text == NULL);
  CHECK(strongbin_table_stat(table, "no_such_number", &number) == STRONGBIN_NOT_FOUND);
  CHECK(strongbin_pool_destroy(strongbin_pool_of_process()) == STRONGBIN_INVALID_ARGUMENT);
  strongbin_table_destroy(table);
  strongbin_table_destroy(NULL);
}

static void EveryStatusHasASentenceOfItsOwn(void) {
  for (int a = STRONGBIN_OK; a <= STRONGBIN_TOO_SMALL; ++a) {
    for (int b = a + 1; b <= STRONGBIN_TOO_SMALL + 1; ++b) {
      CHECK(strcmp(strongbin_status_text((strongbin_status)a), strongbin_status_text((strongbin_status)b)) != 0);
    }
  }
}

static void StatisticsComeInThreeForms(void) {
  strongbin_table* table = NewTable(NULL);
  const char* const signs[] = {"entries", "\"entries\": 1", "strongbin_table_entries{table=\"mine\"} 1"};
  uint64_t entries = 0;
  Put(table, "a", 1, "1");
  for (uint32_t form = STRONGBIN_TEXT; form <= STRONGBIN_PROMETHEUS; ++form) {
    char* text = NULL;
    CHECK(strongbin_table_stats(table, form, "mine", &text) == STRONGBIN_OK);
    CHECK(text != NULL && strstr(text, signs[form]) != NULL);
    strongbin_text_free(text);
  }
  CHECK(strongbin_table_stat(table, "entries", &entries) == STRONGBIN_OK && entries == 1);
  strongbin_table_destroy(table);
}

static void MonitorTellsWhatItWatches(void) {
  strongbin_monitor* monitor = NULL;
  char* report = NULL;
  const strongbin_status status = strongbin_monitor_start(&monitor, &report);
  CHECK(status == STRONGBIN_OK || status == STRONGBIN_NOT_SUPPORTED);
  CHECK((status == STRONGBIN_OK) == (monitor != NULL));
  CHECK(report != NULL && strlen(report) > 0);
  strongbin_text_free(report);
  strongbin_monitor_stop(monitor);
}

int main(void) {
  NewestVersionAtOrBelowTheSnapshotIsFound();
  CopyIsRefusedWhereItDoesNotFit();
  BatchIsAppendedWholeOrNotAtAll();
  IteratorWalksBothWaysWithinItsBounds();
  FrozenTableRefusesWritesAndStaysReadable();
  WarmResetKeepsChunksAndColdDropGivesThemBack();
  PinKeepsViewsAndPoolAlive();
  OptionsOfOtherAgesAreTold();
  NullsAreRefused();
  EveryStatusHasASentenceOfItsOwn();
  StatisticsComeInThreeForms();
  MonitorTellsWhatItWatches();
  return failure_count == 0 ? 0 : 1;
}
