#include "strongbin/memtable/rocksdb/rep_option_types.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>

#include <rocksdb/convenience.h>
#include <rocksdb/status.h>

#include "strongbin/memtable/rocksdb/rep_options.h"

namespace strongbin {

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

// Digits alone. RocksDB's own parser also takes a sign, ignores what follows the digits and overflows in silence. False
// changes nothing.
bool ParseNumber(std::string_view text, uint64_t* number) {
  uint64_t parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  *number = parsed;
  return true;
}

// Digits and at most one unit, as RocksDB takes them.
bool ParseBytes(std::string_view text, size_t* bytes) {
  constexpr std::string_view kUnits = "kmgt";
  constexpr unsigned kBitsPerUnit = 10;
  unsigned shift = 0;
  if (!text.empty()) {
    const size_t unit = kUnits.find(static_cast<char>(text.back() | 0x20));
    if (unit != std::string_view::npos) {
      shift = kBitsPerUnit * static_cast<unsigned>(unit + 1);
      text.remove_suffix(1);
    }
  }
  uint64_t number = 0;
  if (!ParseNumber(text, &number)) return false;
  if (number > std::numeric_limits<size_t>::max() >> shift) return false;
  *bytes = number << shift;
  return true;
}

rdb::OptionTypeInfo Bytes(size_t offset) {
  rdb::OptionTypeInfo info(static_cast<int>(offset), rdb::OptionType::kSizeT);
  info.SetParseFunc([](const rdb::ConfigOptions&, const std::string& name, const std::string& value, void* bytes) {
    if (ParseBytes(value, static_cast<size_t*>(bytes))) return rdb::Status::OK();
    return rdb::Status::InvalidArgument(name + " needs a number of bytes like 64M, not", value);
  });
  return info;
}

rdb::OptionTypeInfo Milliseconds(size_t offset) {
  rdb::OptionTypeInfo info(static_cast<int>(offset), rdb::OptionType::kUInt64T);
  info.SetParseFunc([](const rdb::ConfigOptions&, const std::string& name, const std::string& value, void* ms) {
    if (ParseNumber(value, static_cast<uint64_t*>(ms))) return rdb::Status::OK();
    return rdb::Status::InvalidArgument(name + " needs a number of milliseconds like 5000, not", value);
  });
  return info;
}

}  // namespace

const std::unordered_map<std::string, rdb::OptionTypeInfo>& RepOptionTypes() {
  static const auto* const orders = new std::unordered_map<std::string, RepOrder>{
      {"auto", RepOrder::kAuto}, {"bytewise", RepOrder::kBytewise}, {"fallback", RepOrder::kFallback}};
  static const auto* const pools =
      new std::unordered_map<std::string, RepPool>{{"process", RepPool::kProcess}, {"own", RepPool::kOwn}};
  static const auto* const cold_starts =
      new std::unordered_map<std::string, RepColdStart>{{"auto", RepColdStart::kAuto},
                                                        {"huge_pages", RepColdStart::kHugePages},
                                                        {"populate", RepColdStart::kPopulate},
                                                        {"none", RepColdStart::kNone}};
  static const auto* const types = new std::unordered_map<std::string, rdb::OptionTypeInfo>{
      {"order", rdb::OptionTypeInfo::Enum(offsetof(RepOptions, order), orders)},
      {"pool", rdb::OptionTypeInfo::Enum(offsetof(RepOptions, pool), pools)},
      {"pool_cap_bytes", Bytes(offsetof(RepOptions, pool_cap_bytes))},
      {"pool_decay_ms", Milliseconds(offsetof(RepOptions, pool_decay_ms))},
      {"cold_start", rdb::OptionTypeInfo::Enum(offsetof(RepOptions, cold_start), cold_starts)},
      {"drop_pool_when_unused", {offsetof(RepOptions, drop_pool_when_unused), rdb::OptionType::kBoolean}},
      {"pressure_monitor", {offsetof(RepOptions, pressure_monitor), rdb::OptionType::kBoolean}},
      {"stats_page", {offsetof(RepOptions, stats_page), rdb::OptionType::kBoolean}},
  };
  return *types;
}

namespace {
[[gnu::constructor]] void MakeAtLoad() { static_cast<void>(RepOptionTypes()); }  // see fork_guard.h
}  // namespace

}  // namespace strongbin
