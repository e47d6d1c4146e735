#include "strongbin/memtable/rocksdb/comparator_check.h"

#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include <rocksdb/version.h>

namespace strongbin {

namespace {

constexpr std::array<std::string_view, 1> kTestedVersions = {"7.8.3"};

// Itanium C++ ABI: an object begins with the pointer to its virtual table, the word before the table's first entry
// points to the type_info, whose second word is the mangled name. Without run-time type information that pointer is
// null, which typeid would not survive.
std::string_view MangledTypeName(const void* object) {
  const char* table = nullptr;
  std::memcpy(&table, object, sizeof(table));
  const char* type = nullptr;
  std::memcpy(&type, table - sizeof(type), sizeof(type));
  if (type == nullptr) return {};
  const char* name = nullptr;
  std::memcpy(&name, type + sizeof(void*), sizeof(name));
  // A leading star only says that names are compared by address.
  return name == nullptr ? std::string_view() : std::string_view(*name == '*' ? name + 1 : name);
}

// In MemTable::KeyComparator: its virtual table; the virtual table of its InternalKeyComparator; then the comparator of
// the user.
constexpr size_t kUserComparatorOffset = 2 * sizeof(void*);
constexpr std::string_view kKeyComparatorTypeName = "N7rocksdb8MemTable13KeyComparatorE";

}  // namespace

bool IsTestedRocksDBVersion() {
  static const bool is_tested = [] {
    const std::string version = ROCKSDB_NAMESPACE::GetRocksVersionAsString();
    for (const std::string_view tested : kTestedVersions) {
      if (version == tested) return true;
    }
    return false;
  }();
  return is_tested;
}

namespace {
[[gnu::constructor]] void MakeAtLoad() { static_cast<void>(IsTestedRocksDBVersion()); }  // see fork_guard.h
}  // namespace

const ROCKSDB_NAMESPACE::Comparator* UserComparator(const ROCKSDB_NAMESPACE::MemTableRep::KeyComparator& comparator) {
  if (!IsTestedRocksDBVersion() || MangledTypeName(&comparator) != kKeyComparatorTypeName) return nullptr;
  const ROCKSDB_NAMESPACE::Comparator* user_comparator = nullptr;
  std::memcpy(&user_comparator, reinterpret_cast<const char*>(&comparator) + kUserComparatorOffset, sizeof(void*));
  return user_comparator;
}

}  // namespace strongbin
