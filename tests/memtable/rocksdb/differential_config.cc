#include "strongbin/tests/memtable/rocksdb/differential_config.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>

#include <rocksdb/slice_transform.h>

#include "strongbin/memtable/rocksdb/rep_factory.h"
#include "strongbin/tests/memtable/rocksdb/differential_merge.h"
#include "strongbin/tests/memtable/rocksdb/no_sync_env.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin::differential {

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

constexpr uint64_t kLargeBufferBytes = RoundConfig{}.write_buffer_bytes;

using Number = NumberField<RoundConfig>;
constexpr std::array kFields = {Number{"seed", &RoundConfig::seed},
                                Number{"operation_count", &RoundConfig::operation_count},
                                Number{"key_shape", &RoundConfig::key_shape},
                                Number{"with_bytes", &RoundConfig::with_bytes},
                                Number{"merges", &RoundConfig::merges},
                                Number{"range_deletes", &RoundConfig::range_deletes},
                                Number{"tailing", &RoundConfig::tailing},
                                Number{"threads", &RoundConfig::threads},
                                Number{"kills", &RoundConfig::kills},
                                Number{"fills", &RoundConfig::fills},
                                Number{"snapshots", &RoundConfig::snapshots},
                                Number{"kept_iterators", &RoundConfig::kept_iterators},
                                Number{"other_instances", &RoundConfig::other_instances},
                                Number{"manual_flush", &RoundConfig::manual_flush},
                                Number{"own_pool", &RoundConfig::own_pool},
                                Number{"drop_pool_when_unused", &RoundConfig::drop_pool_when_unused},
                                Number{"pool_decay_ms", &RoundConfig::pool_decay_ms},
                                Number{"cold_start", &RoundConfig::cold_start},
                                Number{"write_buffer_bytes", &RoundConfig::write_buffer_bytes},
                                Number{"inplace_update", &RoundConfig::inplace_update},
                                Number{"inplace_callback", &RoundConfig::inplace_callback},
                                Number{"max_successive_merges", &RoundConfig::max_successive_merges},
                                Number{"prefix_bytes", &RoundConfig::prefix_bytes},
                                Number{"fixed_prefix_bytes", &RoundConfig::fixed_prefix_bytes},
                                Number{"prefix_bloom_percent", &RoundConfig::prefix_bloom_percent},
                                Number{"whole_key_filtering", &RoundConfig::whole_key_filtering},
                                Number{"hint_prefix_bytes", &RoundConfig::hint_prefix_bytes},
                                Number{"huge_page_bytes", &RoundConfig::huge_page_bytes},
                                Number{"history_bytes", &RoundConfig::history_bytes},
                                Number{"min_merge_count", &RoundConfig::min_merge_count},
                                Number{"mempurge_percent", &RoundConfig::mempurge_percent},
                                Number{"memtable_protection_bytes", &RoundConfig::memtable_protection_bytes},
                                Number{"automatic_compactions", &RoundConfig::automatic_compactions},
                                Number{"concurrent_write", &RoundConfig::concurrent_write},
                                Number{"pipelined_write", &RoundConfig::pipelined_write},
                                Number{"unordered_write", &RoundConfig::unordered_write},
                                Number{"two_write_queues", &RoundConfig::two_write_queues},
                                Number{"atomic_flush", &RoundConfig::atomic_flush},
                                Number{"avoid_flush_during_recovery", &RoundConfig::avoid_flush_during_recovery},
                                Number{"disable_wal", &RoundConfig::disable_wal},
                                Number{"hint_per_batch", &RoundConfig::hint_per_batch},
                                Number{"batch_protection_bytes", &RoundConfig::batch_protection_bytes}};

constexpr std::array kColdStarts = {"auto", "huge_pages", "populate", "none"};

// What a length takes as a varint.
uint64_t LengthBytes(uint64_t length) { return (std::bit_width(length | 1) + 6) / 7; }

// An update in place comes to the same as a put: so the result does not depend on where the old value was found. Where
// the length itself gets shorter, RocksDB 7.8.3 would move the value with memcpy, onto itself.
rdb::UpdateStatus ReplaceValue(char* existing, uint32_t* existing_bytes, rdb::Slice value, std::string* merged) {
  if (existing == nullptr || value.size() > *existing_bytes ||
      LengthBytes(value.size()) != LengthBytes(*existing_bytes)) {
    *merged = value.ToString();
    return rdb::UpdateStatus::UPDATED;
  }
  std::copy_n(value.data(), value.size(), existing);
  *existing_bytes = static_cast<uint32_t>(value.size());
  return rdb::UpdateStatus::UPDATED_INPLACE;
}

// What RocksDB would refuse or, for writes, answer with an error each time.
void MakeAcceptable(RoundConfig* config) {
  if (config->unordered_write) {
    config->concurrent_write = 1;
    config->pipelined_write = config->max_successive_merges = 0;
  }
  if (config->pipelined_write) config->two_write_queues = config->atomic_flush = 0;
  if (config->inplace_update) config->concurrent_write = config->unordered_write = 0;
}

// Where RocksDB 7.8.3 itself answers by chance, or by when it flushes.
void LeaveOutWhatIsUndefined(RoundConfig* config) {
  // Updates in place rewrite what a snapshot, an open iterator or a range deletion below them relies on.
  if (config->inplace_update) {
    config->snapshots = config->kept_iterators = config->range_deletes = config->tailing = 0;
  }
  // A log of such updates cannot be replayed.
  if (config->inplace_callback) config->disable_wal = 1;
  // Tailing iterators do not know range deletions. They take prefixes of keys that have none, and of internal keys, and
  // then miss entries of files.
  if (config->tailing) config->range_deletes = config->prefix_bytes = config->fixed_prefix_bytes = 0;
  // The hint of an entry is also given to the list of range deletions, whose assertions then end the process.
  if (config->hint_prefix_bytes || config->hint_per_batch) config->range_deletes = 0;
  if (config->disable_wal) config->kills = 0;
  // A purged memtable may be waited for for ever; closing a database without a log waits for a flush.
  if (config->disable_wal) config->mempurge_percent = 0;
  if (config->mempurge_percent) config->manual_flush = static_cast<uint64_t>(ManualFlush::kNotWaiting);
  // An atomic flush asserts that all families have the same reason for it.
  if (config->atomic_flush) {
    const bool automatic = config->write_buffer_bytes < kLargeBufferBytes;
    config->manual_flush = static_cast<uint64_t>(automatic ? ManualFlush::kNone : ManualFlush::kWaiting);
    if (automatic) config->disable_wal = config->inplace_callback = config->mempurge_percent = 0;
  }
}

}  // namespace

std::span<const NumberField<RoundConfig>> ConfigFields() { return kFields; }

RoundConfig RandomConfig(uint64_t seed, uint64_t operation_count) {
  Random random(seed);
  const auto flag = [&](uint64_t chance) -> uint64_t { return OneIn(&random, chance) ? 1 : 0; };
  const auto one_of = [&]<size_t n>(uint64_t chance, const uint64_t(&numbers)[n], uint64_t otherwise = 0) {
    return OneIn(&random, chance) ? numbers[Below(&random, n)] : otherwise;
  };
  RoundConfig config{.seed = seed, .operation_count = operation_count};
  config.key_shape = one_of(2, {1, 2});
  config.with_bytes = flag(2);
  config.merges = 1 - flag(4);
  config.tailing = flag(4);
  config.range_deletes = 1 - flag(4);
  config.threads = one_of(4, {2, 3, 4});
  config.kills = flag(4);
  config.fills = flag(8);
  config.snapshots = 1 - flag(8);
  config.kept_iterators = 1 - flag(8);
  config.other_instances = flag(2);

  config.own_pool = flag(4);
  config.drop_pool_when_unused = flag(4);
  config.cold_start = Below(&random, kColdStarts.size());

  config.write_buffer_bytes = one_of(2, {uint64_t{64} << 10, uint64_t{64} << 10, uint64_t{1} << 20}, kLargeBufferBytes);
  config.inplace_update = flag(8);
  config.inplace_callback = config.inplace_update != 0 ? flag(2) : 0;
  config.max_successive_merges = one_of(4, {1, 2, 5});
  const bool is_short = config.key_shape == static_cast<uint64_t>(KeyShape::kShort);
  config.prefix_bytes = is_short ? one_of(2, {1, 2, 3}) : one_of(2, {4, 8, 64});
  if (config.prefix_bytes == 0) config.fixed_prefix_bytes = is_short ? one_of(4, {1, 3}) : one_of(4, {8, 64});
  config.prefix_bloom_percent = one_of(2, {1, 5, 25});
  config.whole_key_filtering = flag(2);
  config.hint_prefix_bytes = is_short ? one_of(3, {1, 2}) : one_of(3, {4, 8});
  config.huge_page_bytes = one_of(8, {uint64_t{2} << 20});
  config.history_bytes = one_of(4, {uint64_t{128} << 10, uint64_t{64} << 20});
  config.min_merge_count = one_of(4, {2, 3}, 1);
  config.mempurge_percent = one_of(8, {50, 100, 500});
  config.memtable_protection_bytes = one_of(4, {1, 2, 4, 8});
  config.automatic_compactions = flag(2);

  config.concurrent_write = 1 - flag(4);
  config.pipelined_write = flag(5);
  config.unordered_write = flag(6);
  config.two_write_queues = flag(5);
  config.atomic_flush = flag(5);
  config.avoid_flush_during_recovery = flag(4);

  config.disable_wal = flag(8);
  config.hint_per_batch = flag(4);
  config.batch_protection_bytes = one_of(4, {8});
  config.pool_decay_ms = one_of(4, {1, 20});

  if (!OneIn(&random, 40)) MakeAcceptable(&config);
  LeaveOutWhatIsUndefined(&config);
  return config;
}

bool IsExact(const RoundConfig& config) {
  return config.write_buffer_bytes == kLargeBufferBytes && config.mempurge_percent == 0 &&
         config.automatic_compactions == 0 && config.threads == 0 && config.kills == 0;
}

std::string AsFactoryText(const RoundConfig& config, const std::string& name) {
  if (name != kRocksDBFactoryName) return name;
  return "id=" + name + ";pool=" + (config.own_pool != 0 ? "own" : "process") +
         ";drop_pool_when_unused=" + (config.drop_pool_when_unused != 0 ? "true" : "false") +
         ";pool_decay_ms=" + std::to_string(config.pool_decay_ms) +
         ";cold_start=" + kColdStarts[config.cold_start % kColdStarts.size()];
}

bool MayHaveSecondary(const RoundConfig& config) {
  return config.other_instances != 0 && (config.merges == 0 || IsExact(config));
}

rdb::Options AsOptions(const RoundConfig& config) {
  rdb::Options options;
  options.create_if_missing = true;
  options.env = NoSyncEnv();
  options.create_missing_column_families = true;
  options.compression = rdb::kNoCompression;
  options.level0_slowdown_writes_trigger = options.level0_stop_writes_trigger = 1 << 20;
  options.max_background_jobs = 2;
  options.max_file_opening_threads = 1;
  options.merge_operator = NewMergeOperator();

  options.write_buffer_size = config.write_buffer_bytes;
  options.max_write_buffer_number = static_cast<int>(config.min_merge_count + 2);
  options.min_write_buffer_number_to_merge = static_cast<int>(config.min_merge_count);
  options.inplace_update_support = config.inplace_update != 0;
  if (config.inplace_callback != 0) options.inplace_callback = ReplaceValue;
  options.max_successive_merges = config.max_successive_merges;
  if (config.prefix_bytes != 0) options.prefix_extractor.reset(rdb::NewCappedPrefixTransform(config.prefix_bytes));
  if (config.fixed_prefix_bytes != 0) {
    options.prefix_extractor.reset(rdb::NewFixedPrefixTransform(config.fixed_prefix_bytes));
  }
  options.memtable_prefix_bloom_size_ratio = static_cast<double>(config.prefix_bloom_percent) / 100;
  options.memtable_whole_key_filtering = config.whole_key_filtering != 0;
  if (config.hint_prefix_bytes != 0) {
    options.memtable_insert_with_hint_prefix_extractor.reset(rdb::NewCappedPrefixTransform(config.hint_prefix_bytes));
  }
  options.memtable_huge_page_size = config.huge_page_bytes;
  options.max_write_buffer_size_to_maintain = static_cast<int64_t>(config.history_bytes);
  options.experimental_mempurge_threshold = static_cast<double>(config.mempurge_percent) / 100;
  options.memtable_protection_bytes_per_key = static_cast<uint32_t>(config.memtable_protection_bytes);
  options.disable_auto_compactions = config.automatic_compactions == 0;

  options.allow_concurrent_memtable_write = config.concurrent_write != 0;
  options.enable_pipelined_write = config.pipelined_write != 0;
  options.unordered_write = config.unordered_write != 0;
  options.two_write_queues = config.two_write_queues != 0;
  options.atomic_flush = config.atomic_flush != 0;
  options.avoid_flush_during_recovery = config.avoid_flush_during_recovery != 0;
  return options;
}

rdb::WriteOptions AsWriteOptions(const RoundConfig& config) {
  rdb::WriteOptions options;
  options.disableWAL = config.disable_wal != 0;
  options.memtable_insert_hint_per_batch = config.hint_per_batch != 0;
  options.protection_bytes_per_key = config.batch_protection_bytes;
  return options;
}

}  // namespace strongbin::differential
