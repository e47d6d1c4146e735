#include "strongbin/stats/identities.h"

#include <cstddef>
#include <cstdint>

#include "strongbin/stats/snapshot.h"

namespace strongbin {

namespace {

void NoteUnless(bool holds, std::string_view identity, std::string_view label, std::string* broken) {
  if (holds) return;
  *broken += identity;
  if (!label.empty()) broken->append(" (").append(label).append(")");
  *broken += '\n';
}

}  // namespace

// In the functions below the numbers stand under the names of the list, so that the list's rows are expressions.
#define STRONGBIN_CHECK(LEFT, RELATION, RIGHT, LABEL) \
  NoteUnless((LEFT)RELATION(RIGHT), #LEFT " " #RELATION " " #RIGHT, LABEL, &broken);

std::string BrokenIdentities(const PoolStats& stats) {
  std::string broken;
  for (size_t slot = 0; slot < kClassSlotCount; ++slot) {
#define STRONGBIN_POOL_CLASS(NAME, TYPE, UNIT, HELP) [[maybe_unused]] const uint64_t NAME = stats.NAME[slot];
#define STRONGBIN_POOL_IDENTITY_CLASS(LEFT, RELATION, RIGHT, HELP) \
  STRONGBIN_CHECK(LEFT, RELATION, RIGHT, kClassLabels[slot])
#include "strongbin/stats/metrics.def"
  }
#define STRONGBIN_POOL_CLASS(NAME, TYPE, UNIT, HELP) [[maybe_unused]] const uint64_t NAME = SumOfLabels(stats.NAME);
#define STRONGBIN_POOL_KIND(NAME, TYPE, UNIT, HELP) [[maybe_unused]] const uint64_t NAME = SumOfLabels(stats.NAME);
#define STRONGBIN_POOL(NAME, TYPE, UNIT, HELP) [[maybe_unused]] const uint64_t NAME = stats.NAME;
#define STRONGBIN_POOL_IDENTITY(LEFT, RELATION, RIGHT, HELP) STRONGBIN_CHECK(LEFT, RELATION, RIGHT, "")
#include "strongbin/stats/metrics.def"
  return broken;
}

std::string BrokenIdentities(const TableStats& stats) {
  std::string broken;
  for (size_t kind = 0; kind < kChunkKindCount; ++kind) {
#define STRONGBIN_TABLE_KIND(NAME, TYPE, UNIT, HELP) [[maybe_unused]] const uint64_t NAME = stats.NAME[kind];
#define STRONGBIN_TABLE_IDENTITY_KIND(LEFT, RELATION, RIGHT, HELP) \
  STRONGBIN_CHECK(LEFT, RELATION, RIGHT, kChunkKindLabels[kind])
#include "strongbin/stats/metrics.def"
  }
#define STRONGBIN_TABLE(NAME, TYPE, UNIT, HELP) [[maybe_unused]] const uint64_t NAME = stats.NAME;
#define STRONGBIN_TABLE_IDENTITY(LEFT, RELATION, RIGHT, HELP) STRONGBIN_CHECK(LEFT, RELATION, RIGHT, "")
#include "strongbin/stats/metrics.def"
  return broken;
}

std::string BrokenIdentities(const RocksDBStats& stats) {
  std::string broken;
#define STRONGBIN_ROCKSDB(NAME, TYPE, UNIT, HELP) [[maybe_unused]] const uint64_t NAME = stats.NAME;
#define STRONGBIN_ROCKSDB_IDENTITY(LEFT, RELATION, RIGHT, HELP) STRONGBIN_CHECK(LEFT, RELATION, RIGHT, "")
#include "strongbin/stats/metrics.def"
  return broken;
}

#undef STRONGBIN_CHECK

std::vector<Identity> AllIdentities() {
  return {
#define STRONGBIN_TEXT(LEFT, RELATION, RIGHT) #LEFT " " #RELATION " " #RIGHT
#define STRONGBIN_POOL_IDENTITY_CLASS(LEFT, RELATION, RIGHT, HELP) \
  {"pool", "class", STRONGBIN_TEXT(LEFT, RELATION, RIGHT), HELP},
#define STRONGBIN_POOL_IDENTITY(LEFT, RELATION, RIGHT, HELP) {"pool", "", STRONGBIN_TEXT(LEFT, RELATION, RIGHT), HELP},
#define STRONGBIN_TABLE_IDENTITY_KIND(LEFT, RELATION, RIGHT, HELP) \
  {"table", "kind", STRONGBIN_TEXT(LEFT, RELATION, RIGHT), HELP},
#define STRONGBIN_TABLE_IDENTITY(LEFT, RELATION, RIGHT, HELP) \
  {"table", "", STRONGBIN_TEXT(LEFT, RELATION, RIGHT), HELP},
#define STRONGBIN_ROCKSDB_IDENTITY(LEFT, RELATION, RIGHT, HELP) \
  {"rocksdb", "", STRONGBIN_TEXT(LEFT, RELATION, RIGHT), HELP},
#include "strongbin/stats/metrics.def"
#undef STRONGBIN_TEXT
  };
}

}  // namespace strongbin
