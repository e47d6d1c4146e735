// What a memtable promises, in its plainest form: a std::map of (key, sequence), and an iterator over a copy of what is
// visible.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"

namespace strongbin {

struct ModelKey {
  std::string key;
  Sequence sequence = 0;

  // Key bytes ascending, then sequence descending. std::string compares bytes as unsigned numbers.
  friend bool operator<(const ModelKey& a, const ModelKey& b) {
    const int order = a.key.compare(b.key);
    return order != 0 ? order < 0 : a.sequence > b.sequence;
  }
  friend bool operator==(const ModelKey& a, const ModelKey& b) = default;
};

struct ModelValue {
  EntryKind kind = EntryKind::kPut;
  std::shared_ptr<const std::string> bytes;  // shared: copies of a model must not copy megabytes
};

using Model = std::map<ModelKey, ModelValue>;
using ModelEntry = Model::value_type;

// The newest version at or below the snapshot.
inline const ModelEntry* ModelGet(const Model& model, const std::string& key, Sequence snapshot) {
  const auto it = model.lower_bound({key, snapshot});
  return it == model.end() || it->first.key != key ? nullptr : &*it;
}

// Bounds with bytes of their own.
struct ModelReadOptions {
  Sequence snapshot = kMaxSequence;
  std::optional<std::string> lower_bound = {};
  std::optional<std::string> upper_bound = {};
  bool all_versions = false;

  ReadOptions AsReadOptions() const {
    ReadOptions options{.snapshot = snapshot, .all_versions = all_versions};
    if (lower_bound) options.lower_bound = *lower_bound;
    if (upper_bound) options.upper_bound = *upper_bound;
    return options;
  }
};

// Shows what an iterator with the same options has to show. Entries must stay in the model as long as it looks at them.
class ModelIterator {
 public:
  explicit ModelIterator(ModelReadOptions options) : options_(std::move(options)) {}

  bool Valid() const { return index_ < visible_.size(); }
  const ModelEntry& entry() const { return *visible_[index_]; }

  void SeekToFirst(const Model& model) {
    Refresh(model);
    index_ = 0;
  }
  void SeekToLast(const Model& model) {
    Refresh(model);
    index_ = visible_.size() - 1;  // wraps to "not valid" when nothing is visible
  }
  void Seek(const Model& model, const std::string& key) {
    Refresh(model);
    index_ = FirstAtOrAfter(key);
  }
  void SeekForPrev(const Model& model, const std::string& key) {
    Refresh(model);
    index_ = FirstAtOrAfter(key + '\0') - 1;
  }
  void Next() { ++index_; }
  void Prev() { --index_; }

 private:
  size_t FirstAtOrAfter(const std::string& key) const {
    const auto it =
        std::find_if(visible_.begin(), visible_.end(), [&](const ModelEntry* e) { return e->first.key >= key; });
    return static_cast<size_t>(it - visible_.begin());
  }
  void Refresh(const Model& model) {
    visible_.clear();
    const std::string* shown = nullptr;
    for (const ModelEntry& entry : model) {
      const std::string& key = entry.first.key;
      if (entry.first.sequence > options_.snapshot) continue;
      if (options_.lower_bound && key < *options_.lower_bound) continue;
      if (options_.upper_bound && key >= *options_.upper_bound) continue;
      if (!options_.all_versions && shown != nullptr && *shown == key) continue;
      shown = &key;
      visible_.push_back(&entry);
    }
  }

  const ModelReadOptions options_;
  std::vector<const ModelEntry*> visible_;
  size_t index_ = SIZE_MAX;
};

// A key for failure messages: short, and with every byte visible.
inline std::string Printable(std::string_view key) {
  std::string text = "[" + std::to_string(key.size()) + "]";
  for (const char c : key.substr(0, 96)) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7F) {
      text += c;
    } else {
      text += {'\\', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return text;
}

[[nodiscard]] inline testing::AssertionResult SameLookup(const LookupResult& found, const ModelEntry* expected) {
  if (expected == nullptr) {
    if (found.status == Status::Code::kNotFound) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "found sequence " << found.sequence << " where nothing is visible, or "
                                       << found.status.message();
  }
  if (!found.found()) return testing::AssertionFailure() << "not found: " << found.status.message();
  if (found.sequence != expected->first.sequence || found.kind != expected->second.kind) {
    return testing::AssertionFailure() << "sequence " << found.sequence << " kind "
                                       << int{static_cast<uint8_t>(found.kind)} << ", expected sequence "
                                       << expected->first.sequence;
  }
  if (found.value != *expected->second.bytes) return testing::AssertionFailure() << "wrong value";
  return testing::AssertionSuccess();
}

[[nodiscard]] inline testing::AssertionResult SamePlace(const MemtableIterator& iterator, const ModelIterator& model) {
  if (!iterator.status().ok()) return testing::AssertionFailure() << iterator.status().message();
  if (iterator.Valid() != model.Valid()) {
    return testing::AssertionFailure() << (iterator.Valid() ? "valid at " + Printable(iterator.key())
                                                            : "not valid, expected ")
                                       << (model.Valid() ? Printable(model.entry().first.key) : "");
  }
  if (!model.Valid()) return testing::AssertionSuccess();
  const ModelEntry& expected = model.entry();
  if (iterator.key() != expected.first.key || iterator.sequence() != expected.first.sequence ||
      iterator.kind() != expected.second.kind || iterator.value() != *expected.second.bytes) {
    return testing::AssertionFailure() << "at " << Printable(iterator.key()) << " sequence " << iterator.sequence()
                                       << ", expected " << Printable(expected.first.key) << " sequence "
                                       << expected.first.sequence;
  }
  return testing::AssertionSuccess();
}

// The whole table, both ways, against the whole model.
[[nodiscard]] inline testing::AssertionResult SameContent(const AppendOnlyMemtable& table, const Model& model) {
  if (table.entry_count() != model.size()) {
    return testing::AssertionFailure() << table.entry_count() << " entries, expected " << model.size();
  }
  for (const auto& [key, value] : model) {
    if (const auto same = SameLookup(table.Get(key.key, key.sequence), ModelGet(model, key.key, key.sequence)); !same) {
      return testing::AssertionFailure() << Printable(key.key) << " at " << key.sequence << ": " << same.message();
    }
  }
  for (const bool all_versions : {false, true}) {
    for (const bool forward : {true, false}) {
      const ModelReadOptions options{.all_versions = all_versions};
      MemtableIterator iterator = table.NewIterator(options.AsReadOptions());
      ModelIterator expected(options);
      forward ? iterator.SeekToFirst() : iterator.SeekToLast();
      forward ? expected.SeekToFirst(model) : expected.SeekToLast(model);
      for (;;) {
        if (const auto same = SamePlace(iterator, expected); !same) {
          return testing::AssertionFailure() << same.message() << (all_versions ? " (all versions" : " (newest")
                                             << (forward ? ", forwards)" : ", backwards)");
        }
        if (!expected.Valid()) break;
        forward ? iterator.Next() : iterator.Prev();
        forward ? expected.Next() : expected.Prev();
      }
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace strongbin
