// What --watch draws: text of a given size from one look after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "strongbin/stats/page_reader.h"

namespace strongbin::stat_tool {

struct Screen {
  size_t columns = 80;
  size_t rows = 24;
  bool utf8 = true;  // block characters; else ASCII
};

// Keeps what it needs of past looks for rates. Not thread-safe.
class WatchView {
 public:
  explicit WatchView(double interval_seconds) : interval_seconds_(interval_seconds) {}

  // The next look, at a time of a clock that only goes forward.
  void Add(const PageSnapshot& snapshot, uint64_t now_ns, uint64_t now_unix_ns);

  // The newest look as at most `rows` lines of at most `columns` columns, joined by newlines; ANSI colours.
  // Requires an Add before.
  std::string Draw(const Screen& screen) const;

 private:
  struct Look {
    PageSnapshot snapshot;
    PoolStats pools;  // all together
    uint64_t ns = 0;
    uint64_t unix_ns = 0;
  };

  double RateOf(uint64_t now, uint64_t before) const;

  const double interval_seconds_;
  Look now_;
  std::optional<Look> before_;
  std::deque<double> entry_rates_;  // the newest last
};

}  // namespace strongbin::stat_tool
