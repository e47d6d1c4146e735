// What lies in a statistics page, byte for byte. Generated from metrics.def.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "strongbin/stats/cell.h"
#include "strongbin/stats/metrics.h"

namespace strongbin::stats_internal {

// The form of header and slots. What is in between follows from the list of metrics, see kLayoutHash.
inline constexpr uint32_t kPageForm = 1;
inline constexpr uint64_t kPageMagic = 0x65676170'6e696273;  // "sbinpage" in memory
// Pools beyond these are counted and not shown.
inline constexpr size_t kPagePools = 16;
inline constexpr size_t kPageNameBytes = 32;
inline constexpr size_t kCacheLineBytes = 64;

// Names, types and units of all metrics and labels in their order, but not their help.
inline constexpr std::string_view kLayoutText =
#define STRONGBIN_LABEL_CHUNK_KIND(NAME, HELP) "chunk_kind " #NAME "\n"
#define STRONGBIN_LABEL_RESET_KIND(NAME, HELP) "reset_kind " #NAME "\n"
#define STRONGBIN_POOL_CLASS(NAME, TYPE, UNIT, HELP) "pool_class " #NAME " " #TYPE " " #UNIT "\n"
#define STRONGBIN_POOL_KIND(NAME, TYPE, UNIT, HELP) "pool_kind " #NAME " " #TYPE " " #UNIT "\n"
#define STRONGBIN_POOL(NAME, TYPE, UNIT, HELP) "pool " #NAME " " #TYPE " " #UNIT "\n"
#define STRONGBIN_TABLE_KIND(NAME, TYPE, UNIT, HELP) "table_kind " #NAME " " #TYPE " " #UNIT "\n"
#define STRONGBIN_TABLE_RESET(NAME, TYPE, UNIT, HELP) "table_reset " #NAME " " #TYPE " " #UNIT "\n"
#define STRONGBIN_TABLE(NAME, TYPE, UNIT, HELP) "table " #NAME " " #TYPE " " #UNIT "\n"
#define STRONGBIN_ROCKSDB(NAME, TYPE, UNIT, HELP) "rocksdb " #NAME " " #TYPE " " #UNIT "\n"
#include "strongbin/stats/metrics.def"
    ;

constexpr uint64_t Fnv1a(std::string_view text, uint64_t hash = 0xcbf29ce484222325) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

struct PageHeader {
  std::atomic<uint64_t> magic;  // written last: who sees it sees the rest of the header
  uint32_t form;
  uint32_t pool_slots;
  uint64_t layout_hash;
  uint64_t page_bytes;
  uint64_t pid;
  uint64_t start_ticks;  // of the process, as in /proc/PID/stat
  uint64_t opened_unix_ns;
  char program[kPageNameBytes];  // padded with zeros
  Cell pools_left_out;           // gauge: pools that found no slot
};

// One pool. Free while `number` is 0, being made or cleared while it is kSlotInWork.
struct alignas(kCacheLineBytes) PoolSlot {
  std::atomic<uint64_t> number;  // pools are numbered from 1 in the order in which they came to the page
  char name[kPageNameBytes];     // padded with zeros; written before the number
  PoolCells cells;
};
inline constexpr uint64_t kSlotInWork = UINT64_MAX;

// Zero bytes are an empty page. Nothing points anywhere, nobody waits for anybody; no key or value byte is in it.
struct PageLayout {
  alignas(kCacheLineBytes) PageHeader header;
  alignas(kCacheLineBytes) RocksDBCells rocksdb;
  alignas(kCacheLineBytes) TableCells tables;  // of all tables of the process
  std::array<PoolSlot, kPagePools> pools;
};
static_assert(std::is_standard_layout_v<PageLayout> && std::is_trivially_destructible_v<PageLayout>);
static_assert(sizeof(PageLayout) % sizeof(uint64_t) == 0);

inline constexpr uint64_t kLayoutHash =
    Fnv1a(kLayoutText) ^ (uint64_t{sizeof(PageLayout)} << 32) ^ (uint64_t{sizeof(PoolSlot)} << 8) ^ kClassSlotCount;

template <template <class> class Metrics>
Metrics<Cell>& SharedCells(PageLayout& page) {
  if constexpr (std::is_same_v<Metrics<Cell>, RocksDBCells>) {
    return page.rocksdb;
  } else {
    return page.tables;
  }
}

}  // namespace strongbin::stats_internal
