// An engine in plain C.
#include <stdio.h>
#include <string.h>

#include "strongbin/c.h"

static int Complain(const char* what, strongbin_status status) {
  fprintf(stderr, "%s: %s\n", what, strongbin_status_text(status));
  return 1;
}

int main(void) {
  strongbin_table_options options = STRONGBIN_TABLE_OPTIONS_INIT;
  strongbin_table* table = NULL;
  strongbin_iterator* it = NULL;
  strongbin_entry entry;
  strongbin_status status;

  if (strongbin_c_version() < STRONGBIN_C_VERSION)
    return Complain("the library is older than the header", STRONGBIN_OK);
  options.checksum_entries = 1;
  status = strongbin_table_create(&options, &table);
  if (status != STRONGBIN_OK) return Complain("create", status);
  status = strongbin_table_put(table, "apple", 5, 1, "red", 3);
  if (status != STRONGBIN_OK) return Complain("put", status);
  status = strongbin_table_delete(table, "pear", 4, 2);
  if (status != STRONGBIN_OK) return Complain("delete", status);
  status = strongbin_table_get(table, "apple", 5, STRONGBIN_MAX_SEQUENCE, &entry);
  if (status != STRONGBIN_OK || memcmp(entry.value, "red", 3) != 0) return Complain("get", status);

  status = strongbin_iterator_create(table, NULL, &it);
  if (status != STRONGBIN_OK) return Complain("iterate", status);
  for (int valid = strongbin_iterator_seek_to_first(it); valid; valid = strongbin_iterator_next(it)) {
    status = strongbin_iterator_entry(it, &entry);
    if (status != STRONGBIN_OK) return Complain("entry", status);
    printf("%.*s@%llu\n", (int)entry.key_bytes, entry.key, (unsigned long long)entry.sequence);
  }
  strongbin_iterator_destroy(it);
  status = strongbin_table_drop(table, STRONGBIN_RETURN_BUSY);
  if (status != STRONGBIN_OK) return Complain("drop", status);
  strongbin_table_destroy(table);
  puts("plain_c: good");
  return 0;
}
