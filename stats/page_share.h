// The part that one object has in numbers of the page that many objects add up to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "strongbin/stats/page_layout.h"
#include "strongbin/stats/snapshot.h"
#include "strongbin/stats/stats_page.h"

namespace strongbin::stats_internal {

// Brings the page up to what the object says of itself: what has changed since the last time is added.
//
// Thread safety: one thread at a time; shares of other objects beside it. Cost: with a page a look at each number and a
// locked instruction for each that has changed; without one a load.
template <template <class> class Metrics>
class PageShare {
 public:
  // `due` is the caller's own mark of when to publish again.
  void Publish(const Metrics<uint64_t>& now, uint64_t due) {
    if (PageLayout* page = CurrentPage()) PublishIn(page, now, due);
  }
  // The last one; 0 at first.
  uint64_t due() const { return shown_ == nullptr ? 0 : shown_->due; }
  // The object ends: counters and maxima stay, gauges go.
  void Leave(Metrics<uint64_t> last) {
    PageLayout* page = CurrentPage();
    if (page == nullptr) return;
    ForEachMetric(
        [](const MetricInfo& info, std::span<uint64_t> values) {
          if (info.type == MetricType::kGauge) std::ranges::fill(values, 0);
        },
        last);
    PublishIn(page, last, /*due=*/0);
  }

 private:
  // Made when there is a page, so that objects without one stay small.
  struct Shown {
    PageLayout* page = nullptr;
    uint64_t due = 0;
    Metrics<uint64_t> numbers{};
  };

  // Without memory nothing is shown.
  void PublishIn(PageLayout* page, const Metrics<uint64_t>& now, uint64_t due) {
    if (shown_ == nullptr) shown_.reset(new (std::nothrow) Shown);
    if (shown_ == nullptr) return;
    if (page != shown_->page) *shown_ = {.page = page};
    shown_->due = due;
    ForEachMetric(
        [](const MetricInfo& info, std::span<const uint64_t> to, std::span<uint64_t> shown, std::span<Cell> cells) {
          for (size_t i = 0; i < to.size(); ++i) {
            if (to[i] == shown[i]) continue;
            if (info.type == MetricType::kMax) {
              cells[i].RaiseToShared(to[i]);
            } else {
              cells[i].AddShared(to[i] - shown[i]);  // wraps where a gauge falls
            }
            shown[i] = to[i];
          }
        },
        now, shown_->numbers, SharedCells<Metrics>(*page));
  }

  std::unique_ptr<Shown> shown_;
};

}  // namespace strongbin::stats_internal
