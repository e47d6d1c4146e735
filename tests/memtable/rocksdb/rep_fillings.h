// What memtables hold before a test begins: together these meet all ways in which entries are found and ordered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/rocksdb/rep_model.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {

enum class Filling : uint8_t {
  kNothing,
  kAscending,  // a base that goes on
  kShortBase,  // a base that has ended and was put into the index
  kLongBase,   // a base that has ended and stays
  kRandom,     // no base; the last entries wait for the index
};
inline constexpr Filling kFillings[] = {Filling::kNothing, Filling::kAscending, Filling::kShortBase, Filling::kLongBase,
                                        Filling::kRandom};

// Puts the same into both. Sequences up to 9,999.
inline void Fill(Rep* rep, Model* model, Filling filling) {
  const auto add = [&](const std::string& key, Sequence sequence) {
    ASSERT_TRUE(AddToBoth(rep, model, key, sequence, "value of " + key));
  };
  const auto ascend = [&](uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) add(NumberKey(i / 2, 12), 1'000 - i % 2);
  };
  switch (filling) {
    case Filling::kNothing:
      return;
    case Filling::kAscending:
      return ascend(200);
    case Filling::kShortBase:
      ascend(40);
      return add("!", 2'000);
    case Filling::kLongBase:
      ascend(200);
      return add("!", 2'000);
    case Filling::kRandom:
      add("z", 2'000);
      for (uint64_t i = 0; i < 100; ++i) add(NumberKey(Scramble(i), 20), 3'000 + i);
      return;
  }
}

inline std::string FillingName(const testing::TestParamInfo<Filling>& info) {
  constexpr const char* kNames[] = {"Empty", "Ascending", "ShortBase", "LongBase", "Random"};
  return kNames[static_cast<size_t>(info.param)];
}

}  // namespace strongbin
