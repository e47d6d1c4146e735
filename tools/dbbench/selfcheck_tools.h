// What the checks of `dbbench selfcheck` share.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/stats/thread_cpu.h"
#include "strongbin/tools/dbbench/config.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/gate/statistics.h"

namespace strongbin::dbbench {

inline constexpr size_t kSelfcheckKeyBytes = 16;
inline constexpr size_t kSelfcheckValueBytes = 128;
inline constexpr size_t kSelfcheckBatch = 100;

// CPU time of this thread: another process that takes the core for a while is not counted, though its traces in the
// caches are.
inline double ThreadNs() { return static_cast<double>(ThreadCpuNs()); }

inline std::string Spread(const std::vector<double>& values, const char* unit) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return Significant(Median(values)) + unit + " (" + Significant(*low) + " to " + Significant(*high) + ")";
}

// A small quiet run that starts from the command line's settings.
inline Config SelfcheckConfig(const Config& command_line, std::vector<std::string> dbs, std::vector<TestKind> tests) {
  Config config = command_line;
  config.dbs = std::move(dbs);
  config.tests = std::move(tests);
  config.profile = Profile::kFast;
  config.key_bytes = kSelfcheckKeyBytes;
  config.value_bytes = kSelfcheckValueBytes;
  config.batch_entries = 1000;
  config.threads = 1;
  config.generations = 1;
  config.rate_per_second = 0;
  config.inject_pause_ms = 0;
  config.inject_slowdown = 0;
  config.timeline_ms = 0;
  config.latency_ops = 0;
  config.histogram = true;
  config.checkpoint_between_tests = false;
  config.profile_dir.clear();
  config.keys = config.reads = 200'000;
  return config;
}

// Random 16-byte keys behind each other, and values cut out of one random buffer.
class Entries {
 public:
  Entries(size_t count, bool sorted, uint64_t seed) : keys_(count * kKeyBytes), values_(size_t{1} << 20) {
    std::mt19937_64 random(seed);
    std::vector<std::array<char, kKeyBytes>> keys(count);
    for (auto& key : keys) {
      for (size_t i = 0; i < kKeyBytes; i += 8) {
        const uint64_t word = random();
        std::copy_n(reinterpret_cast<const char*>(&word), 8, key.data() + i);
      }
    }
    if (sorted) {
      std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) {
        return std::string_view(a.data(), kKeyBytes) < std::string_view(b.data(), kKeyBytes);
      });
    }
    for (size_t i = 0; i < count; ++i) std::copy_n(keys[i].data(), kKeyBytes, keys_.data() + i * kKeyBytes);
    for (char& byte : values_) byte = static_cast<char>(random());
  }
  size_t count() const { return keys_.size() / kKeyBytes; }
  std::string_view key(size_t i) const { return {keys_.data() + i * kKeyBytes, kKeyBytes}; }
  std::string_view value(size_t i) const {
    return {values_.data() + i * kValueBytes % (values_.size() - kValueBytes), kValueBytes};
  }

 private:
  static constexpr size_t kKeyBytes = kSelfcheckKeyBytes;
  static constexpr size_t kValueBytes = kSelfcheckValueBytes;

  std::vector<char> keys_;
  std::vector<char> values_;
};

// What RocksDB's memtables have by default: no single put makes a huge page.
inline constexpr ColdStart kRocksDBColdStart = {.huge_pages = true, .populate = true, .ahead = true};

// A pool that keeps all that the checks fill.
std::unique_ptr<ChunkPool> NewSelfcheckPool(bool huge_pages);

// Puts the entries [first, end). Their sequence numbers are drawn from `sequences`, a batch's at once; without it each
// has its index and one. False when one failed.
bool PutRange(AppendOnlyMemtable* table, const Entries& entries, size_t first, size_t end, size_t batch_entries,
              std::atomic<Sequence>* sequences = nullptr);
inline bool PutAll(AppendOnlyMemtable* table, const Entries& entries, size_t batch_entries) {
  return PutRange(table, entries, 0, entries.count(), batch_entries);
}

}  // namespace strongbin::dbbench
