#include "strongbin/tools/strongbin_stat/watch_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "strongbin/stats/human_text.h"
#include "strongbin/stats/snapshot.h"

namespace strongbin::stat_tool {

namespace {

constexpr size_t kMaxHistory = 512;
constexpr std::string_view kBold = "\033[1m", kDim = "\033[2m", kGreen = "\033[32m", kCyan = "\033[36m",
                           kYellow = "\033[33m", kPlain = "\033[0m";

// One line that never becomes wider than the screen. Colours take no room.
class Line {
 public:
  explicit Line(const Screen& screen) : screen_(screen) {}

  // ASCII.
  Line& Text(std::string_view text, std::string_view style = {}) {
    text = text.substr(0, screen_.columns - columns_);
    columns_ += text.size();
    bytes_ += style;
    bytes_ += text;
    if (!style.empty()) bytes_ += kPlain;
    return *this;
  }
  // Right-aligned.
  Line& Right(std::string_view text, size_t width, std::string_view style = {}) {
    const std::string padded = std::string(width - std::min(width, text.size()), ' ') + std::string(text);
    return Text(padded, style);
  }
  // `count` times one character, which is one of two.
  Line& Repeat(size_t count, std::string_view utf8, char ascii, std::string_view style) {
    count = std::min(count, screen_.columns - columns_);
    if (count == 0) return *this;
    columns_ += count;
    bytes_ += style;
    for (size_t i = 0; i < count; ++i) screen_.utf8 ? bytes_.append(utf8) : bytes_.append(1, ascii);
    bytes_ += kPlain;
    return *this;
  }
  size_t left() const { return screen_.columns - columns_; }
  std::string bytes() const { return bytes_; }

 private:
  const Screen& screen_;
  std::string bytes_;
  size_t columns_ = 0;
};

std::string Fixed(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, number);
  return text;
}
// Whole from 10 on.
std::string Rate(double per_second) {
  // Numbers from a page may be anything.
  if (!(per_second < 1e18)) return "-";
  return per_second < 10 && per_second > 0 ? Fixed(per_second, 1)
                                           : WithSeparators(static_cast<uint64_t>(std::llround(per_second)));
}
std::string Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-" : Fixed(100 * static_cast<double>(part) / static_cast<double>(whole), 1) + " %";
}
// 1:02:03
std::string Clock(uint64_t seconds) {
  char text[40];
  std::snprintf(text, sizeof(text), "%llu:%02llu:%02llu", static_cast<unsigned long long>(seconds / 3600),
                static_cast<unsigned long long>(seconds / 60 % 60), static_cast<unsigned long long>(seconds % 60));
  return text;
}
size_t Share(double part, double whole, size_t width) {
  if (!(whole > 0) || !(part > 0)) return 0;
  return std::min(width, static_cast<size_t>(std::ceil(part / whole * static_cast<double>(width))));
}

}  // namespace

void WatchView::Add(const PageSnapshot& snapshot, uint64_t now_ns, uint64_t now_unix_ns) {
  if (now_.ns != 0) before_ = std::move(now_);
  now_ = {snapshot, SumOfPools(snapshot), now_ns, now_unix_ns};
  if (!before_) return;
  entry_rates_.push_back(RateOf(now_.snapshot.tables.appended_entries, before_->snapshot.tables.appended_entries));
  if (entry_rates_.size() > kMaxHistory) entry_rates_.pop_front();
}

// A counter that went back (a pool has ended) gives 0.
double WatchView::RateOf(uint64_t now, uint64_t before) const {
  if (!before_ || now < before || now_.ns <= before_->ns) return 0;
  return static_cast<double>(now - before) * 1e9 / static_cast<double>(now_.ns - before_->ns);
}

std::string WatchView::Draw(const Screen& screen) const {
  const PageSnapshot& seen = now_.snapshot;
  const PoolStats& pool = now_.pools;
  const TableStats& table = seen.tables;
  const PoolStats earlier = before_ ? before_->pools : pool;
  const TableStats earlier_table = before_ ? before_->snapshot.tables : table;
  std::vector<Line> lines;
  const auto add = [&]() -> Line& { return lines.emplace_back(screen); };

  add()
      .Text(seen.program + ", process " + std::to_string(seen.pid), kBold)
      .Text("   page open for " + Clock((now_.unix_ns - std::min(now_.unix_ns, seen.opened_unix_ns)) / 1'000'000'000))
      .Text("   every " + Fixed(interval_seconds_, interval_seconds_ < 1 ? 2 : 0) + " s, Ctrl-C ends", kDim);
  add();

  std::string pools =
      seen.pools.size() == 1 ? "pool " + seen.pools[0].name : std::to_string(seen.pools.size()) + " pools";
  if (seen.pools_left_out > 0) pools += " (and " + std::to_string(seen.pools_left_out) + " unseen)";
  const uint64_t idle = SumOfLabels(pool.idle_bytes), lent = SumOfLabels(pool.lent_bytes),
                 gets = SumOfLabels(pool.gets), hits = SumOfLabels(pool.hits);
  add()
      .Text(pools, kBold)
      .Text("   idle ")
      .Text(InBinaryUnits(idle), kGreen)
      .Text(" of " + InBinaryUnits(pool.cap_bytes))
      .Text("   lent ")
      .Text(InBinaryUnits(lent), kCyan)
      .Text("   slabs free " + InBinaryUnits(SumOfLabels(pool.slab_free_bytes)));
  add()
      .Text("hit rate ")
      .Text(Percent(hits, gets), kBold)
      .Text("   now " + Percent(SumOfLabels(Diff(pool, earlier).hits), SumOfLabels(Diff(pool, earlier).gets)))
      .Text("   gets/s " + Rate(RateOf(gets, SumOfLabels(earlier.gets))))
      .Text("   fresh/s " + InBinaryUnits(static_cast<uint64_t>(std::min(
                                1e18, RateOf(SumOfLabels(pool.fresh_bytes), SumOfLabels(earlier.fresh_bytes))))));
  add();

  constexpr size_t kClass = 10, kBytes = 11, kRate = 10, kHits = 9;
  add()
      .Text("class", kDim)
      .Right("idle", kClass - 5 + kBytes, kDim)
      .Right("lent", kBytes, kDim)
      .Right("gets/s", kRate, kDim)
      .Right("hits", kHits, kDim)
      .Text("  ")
      .Repeat(1, "\u2588", '#', kGreen)
      .Text(" idle ", kDim)
      .Repeat(1, "\u2588", '=', kCyan)
      .Text(" lent", kDim);
  double largest = 0;
  const auto held = [&pool](size_t slot) {
    return static_cast<double>(pool.idle_bytes[slot]) + static_cast<double>(pool.lent_bytes[slot]);
  };
  for (size_t slot = 0; slot < kClassSlotCount; ++slot) largest = std::max(largest, held(slot));
  for (size_t slot = 0; slot < kClassSlotCount; ++slot) {
    const bool is_oversize = slot + 1 == kClassSlotCount;
    const std::string name = is_oversize ? "oversize" : InBinaryUnits(uint64_t{2048} << slot);
    Line& line = add()
                     .Text(name)
                     .Right(InBinaryUnits(pool.idle_bytes[slot]), kClass - name.size() + kBytes)
                     .Right(InBinaryUnits(pool.lent_bytes[slot]), kBytes)
                     .Right(Rate(RateOf(pool.gets[slot], earlier.gets[slot])), kRate)
                     .Right(Percent(pool.hits[slot], pool.gets[slot]), kHits)
                     .Text("  ");
    const size_t width = line.left();
    const size_t bar = Share(held(slot), largest, width);
    const size_t idle_part = Share(static_cast<double>(pool.idle_bytes[slot]), held(slot), bar);
    line.Repeat(idle_part, "\u2588", '#', kGreen).Repeat(bar - idle_part, "\u2588", '=', kCyan);
  }
  add();

  const auto total = [](uint64_t count, double rate) { return WithSeparators(count) + " (" + Rate(rate) + "/s)"; };
  const uint64_t used = SumOfLabels(table.used_bytes), reserved = SumOfLabels(table.reserved_bytes);
  const uint64_t resets = SumOfLabels(table.resets), earlier_resets = SumOfLabels(earlier_table.resets);
  add()
      .Text("tables    ", kBold)
      .Text("entries ")
      .Text(WithSeparators(table.entries), kYellow)
      .Text("   in use " + InBinaryUnits(used) + " of " + InBinaryUnits(reserved) + "   runs " +
            WithSeparators(table.runs) + "   delta " + WithSeparators(table.delta_entries));
  add()
      .Text("          resets " + total(resets, RateOf(resets, earlier_resets)))
      .Text("   sorts " + total(table.sorts, RateOf(table.sorts, earlier_table.sorts)))
      .Text("   merges " + total(table.merges, RateOf(table.merges, earlier_table.merges)));
  const auto count_and_bytes = [](uint64_t count, uint64_t bytes) {
    return WithSeparators(count) + " (" + InBinaryUnits(bytes) + ")";
  };
  add()
      .Text("drops     ", kBold)
      .Text("on purpose " + count_and_bytes(SumOfLabels(pool.drops), SumOfLabels(pool.drop_bytes)))
      .Text("   at the cap " +
            count_and_bytes(SumOfLabels(pool.admission_drops), SumOfLabels(pool.admission_drop_bytes)))
      .Text("   evicted " + count_and_bytes(SumOfLabels(pool.evictions), SumOfLabels(pool.eviction_bytes)));
  add()
      .Text("          pressure calls " + WithSeparators(pool.pressure_calls) + " (" +
            InBinaryUnits(pool.pressure_drop_bytes) + ")")
      .Text("   refusals " + WithSeparators(pool.refusals), pool.refusals > 0 ? kYellow : std::string_view());
  const RocksDBStats& rocksdb = seen.rocksdb;
  if (rocksdb.made_memtables + rocksdb.fallback_memtables > 0) {
    add()
        .Text("rocksdb   ", kBold)
        .Text("memtables " + WithSeparators(rocksdb.memtables) + "   made " + WithSeparators(rocksdb.made_memtables))
        .Text("   skip lists " + WithSeparators(rocksdb.fallback_memtables) + "   heap " +
              InBinaryUnits(rocksdb.heap_bytes) + "   RocksDB's arena " + InBinaryUnits(rocksdb.engine_bytes));
  }
  add();

  const double rate = entry_rates_.empty() ? 0 : entry_rates_.back();
  const double highest = entry_rates_.empty() ? 0 : *std::ranges::max_element(entry_rates_);
  add().Text("entries/s ", kBold).Text(Rate(rate), kYellow).Text("   highest " + Rate(highest), kDim);
  // One column a look, three rows high, each in eighths.
  constexpr int kChartRows = 3;
  static constexpr std::array<std::string_view, 9> kEighths = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                                               "\u2585", "\u2586", "\u2587", "\u2588"};
  for (int row = kChartRows - 1; row >= 0; --row) {
    Line& line = add();
    const size_t shown = std::min(screen.columns, entry_rates_.size());
    for (size_t i = entry_rates_.size() - shown; i < entry_rates_.size(); ++i) {
      const double height = highest > 0 ? entry_rates_[i] / highest * kChartRows * 8 : 0;
      const auto eighths = static_cast<size_t>(std::clamp(std::ceil(height) - row * 8.0, 0.0, 8.0));
      line.Repeat(1, kEighths[eighths], eighths == 0 ? ' ' : '#', kYellow);
    }
  }

  std::string text;
  const size_t count = std::min(lines.size(), screen.rows);
  for (size_t i = 0; i < count; ++i) text += lines[i].bytes() + (i + 1 < count ? "\n" : "");
  return text;
}

}  // namespace strongbin::stat_tool
