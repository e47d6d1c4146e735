// A histogram of durations with bounded relative error.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace strongbin::dbbench {

namespace latency_internal {

inline constexpr unsigned kStepBits = 6;  // 64 buckets for each doubling
inline constexpr uint64_t kSteps = uint64_t{1} << kStepBits;
inline constexpr size_t kBucketCount = (64 - kStepBits + 1) * kSteps;

constexpr size_t BucketOf(uint64_t ns) {
  if (ns < kSteps) return static_cast<size_t>(ns);
  const unsigned shift = static_cast<unsigned>(std::bit_width(ns)) - 1 - kStepBits;
  return static_cast<size_t>((shift + 1) * kSteps + ((ns >> shift) - kSteps));
}

// The longest duration in the bucket.
constexpr uint64_t LastOf(size_t bucket) {
  if (bucket < kSteps) return bucket;
  const uint64_t shift = bucket / kSteps - 1;
  return ((bucket % kSteps + kSteps + 1) << shift) - 1;
}
static_assert(BucketOf(~uint64_t{0}) == kBucketCount - 1 && LastOf(kBucketCount - 1) == ~uint64_t{0});
static_assert(LastOf(BucketOf(127)) == 127 && LastOf(BucketOf(128)) == 129);

}  // namespace latency_internal

// Counts durations in log-linear buckets: exact below 128 ns, within 1/64 above.
//
// Owns 30 KiB inline. One thread at a time; Merge after a join. Record is a few instructions and allocates nothing.
class LatencyHistogram {
 public:
  void Record(uint64_t ns) {
    ++counts_[latency_internal::BucketOf(ns)];
    ++count_;
    if (ns > max_ns_) max_ns_ = ns;
  }

  void Merge(const LatencyHistogram& other) {
    for (size_t i = 0; i < latency_internal::kBucketCount; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    if (other.max_ns_ > max_ns_) max_ns_ = other.max_ns_;
  }

  uint64_t count() const { return count_; }
  uint64_t max_ns() const { return max_ns_; }

  // The smallest duration that at least `quantile` of all do not exceed, rounded up to its bucket's end; 0 when empty.
  uint64_t Quantile(double quantile) const {
    if (count_ == 0) return 0;
    const double wanted = quantile * static_cast<double>(count_);
    uint64_t seen = 0;
    for (size_t i = 0; i < latency_internal::kBucketCount; ++i) {
      seen += counts_[i];
      if (seen > 0 && static_cast<double>(seen) >= wanted) return std::min(latency_internal::LastOf(i), max_ns_);
    }
    return max_ns_;
  }

  // Calls visit(share of all durations at or below it, duration) for each bucket that has any, in order.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    uint64_t seen = 0;
    for (size_t i = 0; i < latency_internal::kBucketCount; ++i) {
      if (counts_[i] == 0) continue;
      seen += counts_[i];
      visit(static_cast<double>(seen) / static_cast<double>(count_), std::min(latency_internal::LastOf(i), max_ns_));
    }
  }

 private:
  std::array<uint64_t, latency_internal::kBucketCount> counts_{};
  uint64_t count_ = 0;
  uint64_t max_ns_ = 0;
};

}  // namespace strongbin::dbbench
