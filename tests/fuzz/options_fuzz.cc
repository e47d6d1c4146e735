// The options of the RocksDB face as strings: a refusal that changes nothing, or values that survive being written and
// read again.
#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <string>
#include <string_view>

#include <rocksdb/convenience.h>
#include <rocksdb/memtablerep.h>

#include "strongbin/memtable/rocksdb/rep_factory.h"
#include "strongbin/tests/fuzz/fuzz_input.h"

namespace strongbin {
namespace {

namespace rdb = ROCKSDB_NAMESPACE;
using Factory = rdb::MemTableRepFactory;

constexpr std::array kNames = {
    "order",     "pool", "pool_cap_bytes", "pool_decay_ms", "cold_start", "drop_pool_when_unused", "pressure_monitor",
    "stats_page"};

std::string Written(const Factory& factory) {
  std::string text;
  FUZZ_REQUIRE(factory.GetOptionString({}, &text).ok(), "options that cannot be written");
  return text;
}
std::string ValueOf(const Factory& factory, const std::string& name) {
  std::string value;
  FUZZ_REQUIRE(factory.GetOption({}, name, &value).ok(), name);
  return value;
}

void RequireRoundTrip(const Factory& factory) {
  const auto again = NewAppendOnlyRepFactory();
  const rdb::Status status = again->ConfigureFromString({}, Written(factory));
  FUZZ_REQUIRE(status.ok(), status.ToString() + ": " + Written(factory));
  std::string mismatch;
  FUZZ_REQUIRE(factory.AreEquivalent({}, again.get(), &mismatch), mismatch);
  FUZZ_REQUIRE(Written(*again) == Written(factory), Written(factory));
}

// As RocksDB hands a value on: what follows a backslash, without it.
std::string Unescaped(std::string_view value) {
  std::string plain;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && ++i == value.size()) break;
    plain += value[i];
  }
  return plain;
}

// What the parser of numbers of bytes has to say, the slow way.
bool NumberOfBytes(std::string_view text, std::string* stored) {
  unsigned shift = 0;
  if (!text.empty() && std::isalpha(static_cast<unsigned char>(text.back())) != 0) {
    const size_t unit = std::string_view("kmgt").find(static_cast<char>(std::tolower(text.back())));
    if (unit == std::string_view::npos) return false;
    shift = 10 * static_cast<unsigned>(unit + 1);
    text.remove_suffix(1);
  }
  if (text.empty()) return false;
  __extension__ unsigned __int128 number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + static_cast<unsigned>(c - '0');
    if (number > UINT64_MAX) return false;
  }
  number <<= shift;
  if (number > UINT64_MAX) return false;
  *stored = std::to_string(static_cast<uint64_t>(number));
  return true;
}

void TryValue(Factory* factory, const std::string& name, const std::string& value) {
  const std::string before = ValueOf(*factory, name);
  const rdb::Status status = factory->ConfigureOption({}, name, value);
  if (!status.ok()) {
    FUZZ_REQUIRE(ValueOf(*factory, name) == before, name + " was refused and has changed: " + value);
    FUZZ_REQUIRE(status.ToString().find(name) != std::string::npos, "a refusal that does not name the option");
  }
  if (name == kNames[2]) {
    std::string stored;
    const bool is_number = NumberOfBytes(Unescaped(value), &stored);
    FUZZ_REQUIRE(status.ok() == is_number, value);
    FUZZ_REQUIRE(!is_number || ValueOf(*factory, name) == stored, value);
  }
}

void Run(FuzzInput input) {
  const auto factory = NewAppendOnlyRepFactory();
  if (input.Byte() < 0x60) {
    // As a whole; RocksDB cuts the string into names and values.
    if (factory->ConfigureFromString({}, std::string(input.Rest())).ok()) RequireRoundTrip(*factory);
    return;
  }
  while (!input.AtEnd()) {
    const std::string name = kNames[input.Below(kNames.size())];
    TryValue(factory.get(), name, std::string(input.Bytes(input.Below(24))));
  }
  RequireRoundTrip(*factory);
}

}  // namespace
}  // namespace strongbin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  strongbin::Run({data, size});
  return 0;
}
