// A memtable of the RocksDB face against a std::map.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/rocksdb/fake_engine.h"
#include "strongbin/tests/memtable/table_model.h"

namespace strongbin {

inline FakeEntry AsFakeEntry(const ModelEntry& entry) {
  return {.key = entry.first.key,
          .sequence = entry.first.sequence,
          .value = *entry.second.bytes,
          .type = static_cast<uint8_t>(entry.second.kind)};
}

// Puts an entry into both. True: the memtable said that it is new, or does not say.
inline bool AddToBoth(Rep* rep, Model* model, const ModelKey& key, const ModelValue& value,
                      const InsertCall& call = kPlainInsert) {
  const bool answer = AddEntry(rep, AsFakeEntry({key, value}), call);
  model->emplace(key, value);
  return answer;
}
inline bool AddToBoth(Rep* rep, Model* model, const std::string& key, Sequence sequence,
                      const std::string& value = {}) {
  return AddToBoth(rep, model, {key, sequence}, {EntryKind::kPut, std::make_shared<const std::string>(value)});
}

inline std::string PrintableEntry(const FakeEntry& entry) {
  return Printable(entry.key) + "@" + std::to_string(entry.sequence);
}

// Both may be null: nothing.
[[nodiscard]] inline testing::AssertionResult SameEntry(const char* encoded, const ModelEntry* expected) {
  if (expected == nullptr) {
    if (encoded == nullptr) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "shows " << PrintableEntry(Decode(encoded)) << " where nothing is";
  }
  const FakeEntry wanted = AsFakeEntry(*expected);
  if (encoded == nullptr) return testing::AssertionFailure() << "shows nothing, expected " << PrintableEntry(wanted);
  const FakeEntry found = Decode(encoded);
  if (found.key != wanted.key || found.sequence != wanted.sequence) {
    return testing::AssertionFailure() << "shows " << PrintableEntry(found) << ", expected " << PrintableEntry(wanted);
  }
  if (found.type != wanted.type || found.value != wanted.value) {
    return testing::AssertionFailure() << PrintableEntry(found) << " has a wrong type or value";
  }
  return testing::AssertionSuccess();
}

[[nodiscard]] inline testing::AssertionResult SamePlace(const Rep::Iterator& iterator, const ModelEntry* expected) {
  return SameEntry(iterator.Valid() ? iterator.key() : nullptr, expected);
}

// Each version of `key` by Get, from `snapshot` down.
[[nodiscard]] inline testing::AssertionResult SameVersions(Rep* rep, const Model& model, const std::string& key,
                                                           Sequence snapshot = kMaxSequence) {
  testing::AssertionResult result = testing::AssertionSuccess();
  auto expected = model.lower_bound({key, snapshot});
  const auto next = [&] { return expected != model.end() && expected->first.key == key ? &*expected : nullptr; };
  ForEachVersion(rep, key, snapshot, [&](const char* entry) {
    if (!(result = SameEntry(entry, next()))) return false;
    ++expected;
    return true;
  });
  if (!result) return result << " (Get)";
  if (next() != nullptr) return SameEntry(nullptr, next()) << " (Get)";
  return result;
}

// All entries in order, walked in one direction.
[[nodiscard]] inline testing::AssertionResult SameWalk(Rep* rep, const Model& model, bool forward) {
  const RepIteratorPtr iterator = OpenIterator(rep, forward ? IteratorEnd::kDestructor : IteratorEnd::kDelete);
  const auto walk = [&](auto entry, auto end) {
    for (forward ? iterator->SeekToFirst() : iterator->SeekToLast();; ++entry) {
      const ModelEntry* expected = entry == end ? nullptr : &*entry;
      if (const auto same = SamePlace(*iterator, expected); !same || expected == nullptr) return same;
      forward ? iterator->Next() : iterator->Prev();
    }
  };
  const testing::AssertionResult same = forward ? walk(model.begin(), model.end()) : walk(model.rbegin(), model.rend());
  return same ? same : testing::AssertionFailure() << same.message() << (forward ? " (forwards)" : " (backwards)");
}

// The whole memtable by all its reading methods.
[[nodiscard]] inline testing::AssertionResult SameContent(AppendOnlyRep* rep, const Model& model) {
  for (const bool forward : {true, false}) {
    if (const auto same = SameWalk(rep, model, forward); !same) return same;
  }
  for (const auto& [key, value] : model) {
    const ModelEntry* newest = ModelGet(model, key.key, kMaxSequence);
    if (newest->first == key) {
      if (const auto same = SameVersions(rep, model, key.key); !same) return same;
    }
    if (const auto same = SameEntry(FirstVersion(rep, key.key, key.sequence), ModelGet(model, key.key, key.sequence));
        !same) {
      return same;
    }
    if (!rep->Contains(ROCKSDB_NAMESPACE::LookupKey(key.key, key.sequence).memtable_key().data())) {
      return testing::AssertionFailure() << Printable(key.key) << "@" << key.sequence << " is not contained";
    }
  }
  const uint64_t count =
      rep->ApproximateNumEntries(InternalKeyOf("", kMaxSequence), InternalKeyOf(std::string(64, '\xFF'), 0));
  const auto behind = model.lower_bound({std::string(64, '\xFF'), 0});
  const auto expected_count = static_cast<uint64_t>(std::distance(model.begin(), behind));
  if (count != expected_count) {
    return testing::AssertionFailure() << count << " entries, expected " << expected_count;
  }
  return testing::AssertionSuccess();
}

}  // namespace strongbin
