// Whether keys and values can be found in memory that a table has given back.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

constexpr std::string_view kSecret = "nobody may read this";

// Takes all that lies idle, as somebody else would, and looks for the secret. How many chunks hold it.
uint64_t ChunksWithSecret(ChunkPool* pool) {
  std::vector<Chunk> chunks;
  uint64_t found = 0;
  for (size_t slot = 0; slot < kSizeClassCount; ++slot) {
    // And beyond, what is carved from room that has not left.
    for (uint64_t count = pool->Stats().idle_bytes[slot] / ClassBytes(slot) + 20; count > 0; --count) {
      const Chunk chunk = pool->Acquire(ClassBytes(slot), ChunkKind::k_key);
      EXPECT_TRUE(chunk);
      chunks.push_back(chunk);
      found += std::string_view(chunk.data, chunk.bytes).find(kSecret) != std::string_view::npos;
    }
  }
  ChunkPool::Drop(chunks);
  return found;
}

// In how many chunks the secret is found after a table that held it has ended in some way.
uint64_t FoundAfter(bool wipes, Status (AppendOnlyMemtable::*end)(WhenBusy)) {
  ChunkPool pool({.wipe_on_return = wipes});
  AppendOnlyMemtable table({.pool = &pool});
  const Chunk neighbour = pool.Acquire(1, ChunkKind::k_key);  // keeps a page of small chunks from leaving
  for (uint64_t i = 0; i < 3'000; ++i) {
    const std::string key = std::string(kSecret) + NumberKey(Scramble(i), 20);
    EXPECT_TRUE(table.Put(key, i, std::string(kSecret)).ok());
  }
  {
    // Runs hold bytes of keys too.
    MemtableIterator iterator = table.NewIterator();
    iterator.SeekToFirst();
    EXPECT_TRUE(iterator.Valid());
  }
  EXPECT_TRUE((table.*end)(WhenBusy::kReturn).ok());
  const uint64_t found = ChunksWithSecret(&pool);
  ChunkPool::Release(neighbour);
  return found;
}

TEST(WipeTest, WhatATableHeldIsGoneFromAllThatItGaveBack) {
  for (const auto end : {&AppendOnlyMemtable::ResetWarm, &AppendOnlyMemtable::ReleaseWarm,
                         &AppendOnlyMemtable::ResetCold, &AppendOnlyMemtable::ReleaseCold}) {
    EXPECT_EQ(FoundAfter(/*wipes=*/true, end), 0u);
  }
}

TEST(WipeTest, WithoutTheOptionItIsThere) {
  EXPECT_GT(FoundAfter(/*wipes=*/false, &AppendOnlyMemtable::ResetWarm), 0u);
}

}  // namespace
}  // namespace strongbin
