// Snapshots with a different number in each cell, and files that hold what is expected of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/stats/snapshot.h"

namespace strongbin {

// Cell number n, counted from 1 in the order of the list, holds n * step.
template <class Stats>
Stats NumberedStats(uint64_t step) {
  Stats stats;
  uint64_t next = 0;
  ForEachMetric(
      [&](const MetricInfo&, std::span<uint64_t> values) {
        for (uint64_t& value : values) value = next += step;
      },
      stats);
  return stats;
}

template <class Stats>
std::vector<MetricInfo> ListOf() {
  Stats stats;
  std::vector<MetricInfo> infos;
  ForEachMetric([&](const MetricInfo& info, std::span<uint64_t>) { infos.push_back(info); }, stats);
  return infos;
}

inline std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

inline std::filesystem::path SourceRoot() { return std::filesystem::path(__FILE__).parent_path() / "../.."; }

// Expects `text` to be what the file (from the root of the tree) holds. With STRONGBIN_UPDATE_GOLDEN set in the
// environment it writes the file instead: read the difference before you commit it.
inline void ExpectGolden(const std::string& file, const std::string& text) {
  const std::filesystem::path path = SourceRoot() / file;
  if (std::getenv("STRONGBIN_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ifstream stream(path, std::ios::binary);
  ASSERT_TRUE(stream) << path;
  const std::string expected{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(text, expected) << "differs from " << file << "; STRONGBIN_UPDATE_GOLDEN=1 rewrites it";
}

}  // namespace strongbin
