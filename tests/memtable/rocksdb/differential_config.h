// What a round is like: the options of RocksDB that touch a memtable, the shape of its keys, and what is done.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <rocksdb/options.h>

#include "strongbin/tests/memtable/rocksdb/differential_text.h"

namespace strongbin::differential {

inline constexpr uint64_t kFamilyCount = 2;

enum class KeyShape : uint64_t {
  kShort,        // 0 to 8 bytes over three letters
  kLong8Bytes,   // 9 to 300 bytes that share their first 8
  kLong64Bytes,  // the same with 64
};

enum class ManualFlush : uint64_t { kAny, kWaiting, kNotWaiting, kNone };

// As it is made: nothing but plain writes and reads, in memtables that no round fills. Every field is a number so that
// one table names them all.
struct RoundConfig {
  uint64_t seed = 0;
  uint64_t operation_count = 0;

  // Keys and operations.
  uint64_t key_shape = 0;   // KeyShape
  uint64_t with_bytes = 0;  // letters are 0, 'a' and 0xE0 instead of "abc"
  uint64_t merges = 1;
  uint64_t range_deletes = 0;
  uint64_t tailing = 0;
  uint64_t threads = 0;  // how many write at once in some operations
  uint64_t kills = 0;
  uint64_t fills = 0;
  uint64_t snapshots = 0;
  uint64_t kept_iterators = 0;
  uint64_t other_instances = 0;  // read-only and secondary ones

  uint64_t manual_flush = 0;  // ManualFlush

  // The memtable under test, where it is ours.
  uint64_t own_pool = 0;
  uint64_t drop_pool_when_unused = 0;
  uint64_t pool_decay_ms = 0;
  uint64_t cold_start = 0;  // as in kColdStarts

  // Column families.
  uint64_t write_buffer_bytes = 16 << 20;
  uint64_t inplace_update = 0;
  uint64_t inplace_callback = 0;
  uint64_t max_successive_merges = 0;
  uint64_t prefix_bytes = 0;  // of a capped prefix extractor
  uint64_t fixed_prefix_bytes = 0;
  uint64_t prefix_bloom_percent = 0;
  uint64_t whole_key_filtering = 0;
  uint64_t hint_prefix_bytes = 0;
  uint64_t huge_page_bytes = 0;
  uint64_t history_bytes = 0;  // max_write_buffer_size_to_maintain
  uint64_t min_merge_count = 1;
  uint64_t mempurge_percent = 0;
  uint64_t memtable_protection_bytes = 0;
  uint64_t automatic_compactions = 1;

  // Database.
  uint64_t concurrent_write = 1;
  uint64_t pipelined_write = 0;
  uint64_t unordered_write = 0;
  uint64_t two_write_queues = 0;
  uint64_t atomic_flush = 0;
  uint64_t avoid_flush_during_recovery = 0;

  // Writes.
  uint64_t disable_wal = 0;
  uint64_t hint_per_batch = 0;
  uint64_t batch_protection_bytes = 0;

  bool operator==(const RoundConfig&) const = default;
};

std::span<const NumberField<RoundConfig>> ConfigFields();

// Most are combinations that RocksDB takes; a few it refuses.
RoundConfig RandomConfig(uint64_t seed, uint64_t operation_count);

// RocksDB 7.8.3 may apply an operand twice in a secondary instance: from a log, and from the file that it was flushed
// to.
bool MayHaveSecondary(const RoundConfig& config);

// Whether both databases switch and flush their memtables at the same operations: then also what depends on that is
// compared.
bool IsExact(const RoundConfig& config);

// For MemTableRepFactory::CreateFromString: `name`, with options where it is ours.
std::string AsFactoryText(const RoundConfig& config, const std::string& name);

ROCKSDB_NAMESPACE::Options AsOptions(const RoundConfig& config);
ROCKSDB_NAMESPACE::WriteOptions AsWriteOptions(const RoundConfig& config);

// The extractor by which an iterator may promise to stay within a prefix; 0 where there is none.
inline uint64_t SeekPrefixBytes(const RoundConfig& config) {
  return config.fixed_prefix_bytes == 0 ? config.prefix_bytes : 0;
}

}  // namespace strongbin::differential
