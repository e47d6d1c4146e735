// Writers and readers of one memtable at once.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/heap_probe.h"
#include "strongbin/tests/memtable/on_threads.h"
#include "strongbin/tests/memtable/rocksdb/fake_engine.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

// Every sequence from 1 up has one entry: a third of them are versions of hot keys.
constexpr uint64_t kHotKeys = 16;
bool IsHot(Sequence sequence) { return sequence % 3 == 0; }
std::string KeyOf(Sequence sequence) {
  return IsHot(sequence) ? "hot " + std::to_string(sequence / 3 % kHotKeys) : NumberKey(Scramble(sequence), 20);
}

class RepConcurrencyTest : public testing::Test {
 protected:
  Rep* rep() { return table_.rep.get(); }
  void Expect(bool is_right) {
    if (!is_right) wrong_.fetch_add(1, std::memory_order_relaxed);
  }
  void Insert(Sequence sequence, const InsertCall& call) {
    Expect(AddEntry(rep(), {.key = KeyOf(sequence), .sequence = sequence, .value = std::to_string(sequence)}, call));
  }
  void ExpectShown(const char* entry, Sequence sequence) {
    if (entry == nullptr) return Expect(false);
    const FakeEntry shown = Decode(entry);
    Expect(shown.key == KeyOf(sequence) && shown.sequence == sequence && shown.value == std::to_string(sequence));
  }

  // The ways in which a reader looks at a memtable that holds at least the sequences 1 ... known.
  void LookUp(Random* random, Sequence known) {
    const Sequence sequence = 1 + Below(random, known);
    ExpectShown(FirstVersion(rep(), KeyOf(sequence), sequence), sequence);
    // At a snapshot of all that is known: the newest version, and then the one before.
    const Sequence newest_hot = known - known % 3;
    Sequence expected = newest_hot;
    if (newest_hot == 0) return;
    ForEachVersion(rep(), KeyOf(newest_hot), known, [&](const char* entry) {
      ExpectShown(entry, expected);
      expected -= expected > 3 * kHotKeys ? 3 * kHotKeys : 0;
      return OneIn(random, 2);
    });
    Expect(FirstVersion(rep(), "hot", kMaxSequence) == nullptr);
  }
  void Walk(Sequence known, bool forward) {
    const RepIteratorPtr iterator = OpenIterator(rep(), forward ? IteratorEnd::kDelete : IteratorEnd::kDestructor);
    uint64_t known_count = 0;
    std::optional<FakeEntry> last;
    for (forward ? iterator->SeekToFirst() : iterator->SeekToLast(); iterator->Valid();
         forward ? iterator->Next() : iterator->Prev()) {
      const FakeEntry shown = Decode(iterator->key());
      if (last) {
        const FakeEntry &first = forward ? *last : shown, &second = forward ? shown : *last;
        Expect(first.key < second.key || (first.key == second.key && first.sequence > second.sequence));
      }
      known_count += shown.sequence <= known;
      last = shown;
    }
    Expect(known_count == known);
  }
  void SeekAround(Random* random, Sequence known) {
    const RepIteratorPtr iterator = OpenIterator(rep());
    const Sequence sequence = 1 + Below(random, known);
    iterator->Seek(InternalKeyOf(KeyOf(sequence), sequence), nullptr);
    ExpectShown(iterator->Valid() ? iterator->key() : nullptr, sequence);
    for (int step = 0; step < 10 && iterator->Valid(); ++step) OneIn(random, 2) ? iterator->Next() : iterator->Prev();
  }
  void Measure(Sequence known) {
    TableStats stats;
    table_->AddTo(&stats);
    Expect(stats.entries >= known);
    Expect(rep()->ApproximateNumEntries(InternalKeyOf("", kMaxSequence), InternalKeyOf("~", 0)) >= known);
    std::unordered_set<const char*> sample;
    rep()->UniqueRandomSample(known, 5, &sample);
    // Writers may have gone on since.
    Expect(sample.size() >= std::min<uint64_t>(known, 5) && sample.size() <= 5);
    for (const char* entry : sample) ExpectShown(entry, Decode(entry).sequence);
    (void)pool_.Stats();
    (void)table_->unappended_count();
  }
  // One of these, and a look at the usage, which never falls. `last_usage` is the thread's own.
  void Read(Random* random, Sequence known, size_t* last_usage) {
    const size_t usage = table_->ApproximateMemoryUsage();
    Expect(usage >= *last_usage && usage < size_t{1} << 30);
    *last_usage = usage;
    if (known == 0) return;
    switch (Below(random, 16)) {
      case 0:
        return Walk(known, OneIn(random, 2));
      case 1:
        return SeekAround(random, known);
      case 2:
        return Measure(known);
      default:
        return LookUp(random, known);
    }
  }
  void ExpectComplete(Sequence last) {
    EXPECT_EQ(wrong_.load(), 0u);
    EXPECT_EQ(table_.Stats().entries, last);
    EXPECT_EQ(table_->unappended_count(), 0u);
    Walk(last, true);
    Walk(last, false);
    for (Sequence sequence = 1; sequence <= last; ++sequence) {
      ExpectShown(FirstVersion(rep(), KeyOf(sequence), sequence), sequence);
    }
    EXPECT_EQ(wrong_.load(), 0u);
    EXPECT_EQ(table_.charge->Now().held(), LentBytes(pool_));
    EXPECT_TRUE(table_.charge->Now().in_order);
  }

  ChunkPool pool_;
  FakeMemTable table_{&pool_};
  std::atomic<uint64_t> wrong_{0};
};

// As the engine writes: in groups, one behind the other. Of a group either the leader inserts everything by plain
// calls, or each member inserts its own batch by concurrent calls; both happen to one memtable. Readers know what the
// last group has published.
TEST_F(RepConcurrencyTest, WriteGroupsOfBothKindsBesideReaders) {
  constexpr uint64_t kWriters = 4, kReaders = 2, kBatch = 5;
  const uint64_t rounds = WideTests() ? 5'000 : Scaled(1'000, 600);
  std::atomic<Sequence> published{0};
  std::barrier<> group_is_formed(kWriters);
  const auto publish = [&]() noexcept { published.fetch_add(kWriters * kBatch, std::memory_order_release); };
  std::barrier group_is_done(kWriters, publish);
  OnThreads(kWriters + kReaders, [&](uint64_t thread) {
    Random random(thread);
    if (thread >= kWriters) {
      size_t usage = 0;
      for (Sequence known = 0; known < rounds * kWriters * kBatch;) {
        known = published.load(std::memory_order_acquire);
        Read(&random, known, &usage);
      }
      return;
    }
    for (uint64_t round = 0; round < rounds; ++round) {
      group_is_formed.arrive_and_wait();
      const Sequence first = 1 + round * kWriters * kBatch;
      const bool is_parallel = Scramble(round) % 3 != 0;
      const bool is_leader = round % kWriters == thread;
      if (is_parallel) {
        for (uint64_t i = 0; i < kBatch; ++i) {
          Insert(first + thread * kBatch + i, kInsertCalls[OneIn(&random, 2) ? 1 : 3]);
        }
      } else if (is_leader) {
        for (uint64_t i = 0; i < kWriters * kBatch; ++i) Insert(first + i, kInsertCalls[OneIn(&random, 2) ? 0 : 2]);
      }
      group_is_done.arrive_and_wait();
    }
  });
  ExpectComplete(rounds * kWriters * kBatch);
}

// No groups, any call by anybody: more than the engine asks for. An entry is known when its insert has returned.
TEST_F(RepConcurrencyTest, WritersThatKnowNothingOfEachOtherBesideReaders) {
  constexpr uint64_t kWriters = 3, kReaders = 2;
  const uint64_t each = WideTests() ? 60'000 : 8'000;
  std::atomic<uint64_t> inserted[kWriters] = {};
  OnThreads(kWriters + kReaders, [&](uint64_t thread) {
    Random random(thread);
    if (thread < kWriters) {
      for (uint64_t i = 0; i < each; ++i) {
        Insert(1 + i * kWriters + thread, kInsertCalls[Below(&random, 8)]);
        inserted[thread].store(i + 1, std::memory_order_release);
      }
      return;
    }
    size_t usage = 0;
    for (uint64_t least = 0; least < each;) {
      least = each;
      for (const std::atomic<uint64_t>& count : inserted) {
        least = std::min(least, count.load(std::memory_order_acquire));
      }
      Read(&random, least * kWriters, &usage);
      // The newest of one writer, whatever the others do.
      const uint64_t writer = Below(&random, kWriters);
      const uint64_t count = inserted[writer].load(std::memory_order_acquire);
      if (count == 0) continue;
      const Sequence newest = 1 + (count - 1) * kWriters + writer;
      ExpectShown(FirstVersion(rep(), KeyOf(newest), newest), newest);
    }
  });
  ExpectComplete(each * kWriters);
}

TEST_F(RepConcurrencyTest, OfEqualKeysAndSequencesExactlyOneIsTrue) {
  constexpr uint64_t kWriters = 8;
  const uint64_t count = 4'000;
  std::atomic<uint64_t> won{0};
  OnThreads(kWriters, [&](uint64_t thread) {
    Random random(thread);
    for (Sequence sequence = 1; sequence <= count; ++sequence) {
      const std::string key = KeyOf(sequence), value = std::to_string(sequence);
      const FakeEntry entry{.key = key, .sequence = sequence, .value = value};
      if (AddEntry(rep(), entry, kInsertCalls[Below(&random, 4)])) won.fetch_add(1);
    }
  });
  EXPECT_EQ(won.load(), count);
  EXPECT_EQ(table_->unappended_count(), (kWriters - 1) * count);
  EXPECT_EQ(table_.Stats().entries, count);
  Walk(count, true);
  EXPECT_EQ(wrong_.load(), 0u);
}

// The writer has no memory for its index, now and then; readers have.
TEST_F(RepConcurrencyTest, LookupsMissNothingWhileTheIndexLags) {
  const uint64_t count = WideTests() ? 100'000 : 12'000;
  std::vector<ROCKSDB_NAMESPACE::KeyHandle> handles;
  MallocChunkSource source;
  ChunkPool pool(UnpooledFrom(&source));
  FakeMemTable starving(&pool);
  for (Sequence sequence = 1; sequence <= count; ++sequence) {
    const std::string value = std::to_string(sequence);
    handles.push_back(
        AllocateEntry(starving.rep.get(), {.key = KeyOf(sequence), .sequence = sequence, .value = value}));
  }
  starving.arena.refuse = [](size_t) { return true; };
  std::atomic<Sequence> inserted{0};
  OnThreads(3, [&](uint64_t thread) {
    Random random(thread);
    if (thread == 0) {
      for (Sequence sequence = 1; sequence <= count;) {
        std::optional<HeapRefusal> refusal;
        if (OneIn(&random, 2)) refusal.emplace(HeapRefusal::Of::kAnything);
        for (uint64_t burst = Below(&random, 40); burst > 0 && sequence <= count; --burst, ++sequence) {
          Expect(starving->InsertKeyConcurrently(handles[sequence - 1]));
          inserted.store(sequence, std::memory_order_release);
        }
      }
      return;
    }
    for (Sequence known = 0; known < count;) {
      known = inserted.load(std::memory_order_acquire);
      if (known == 0) continue;
      // Mostly among the newest, which wait.
      const Sequence sequence = known - Below(&random, std::min<uint64_t>(known, OneIn(&random, 4) ? known : 20));
      ExpectShown(FirstVersion(starving.rep.get(), KeyOf(sequence), sequence), sequence);
    }
  });
  EXPECT_EQ(wrong_.load(), 0u);
}

}  // namespace
}  // namespace strongbin
