// RocksDB as a memtable sees it, without RocksDB in the process: so that every instruction of a test is one that the
// sanitizers have seen.
//
// The classes that RocksDB's public headers only declare are the test's own here; fake_engine.cc defines the members of
// MemTableRep that its library would bring.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/memtablerep.h>

#include "strongbin/memtable/rocksdb/append_only_rep.h"
#include "strongbin/memtable/types.h"

namespace ROCKSDB_NAMESPACE {

// The arena behind one memtable. Hands out addresses that are multiples of nothing, as RocksDB's may be. Thread safety:
// any thread.
class Allocator {
 public:
  // Throws std::bad_alloc where `refuse` says so.
  char* Allocate(size_t bytes);
  // Granted.
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // Set at quiet points only.
  std::function<bool(size_t bytes)> refuse;

 private:
  std::atomic<uint64_t> calls_{0};
  std::atomic<size_t> bytes_{0};
  std::mutex mutex_;
  std::vector<std::unique_ptr<char[]>> blocks_;  // guarded by mutex_
};

// Where RocksDB wants iterators to be made. Nobody can: it is declared and no more.
class Arena {};

// What is looked up: the newest version at or below a sequence.
class LookupKey {
 public:
  LookupKey(std::string_view user_key, uint64_t sequence);
  Slice memtable_key() const { return bytes_; }
  Slice internal_key() const { return {bytes_.data() + prefix_bytes_, bytes_.size() - prefix_bytes_}; }

 private:
  std::string bytes_;
  size_t prefix_bytes_;
};

}  // namespace ROCKSDB_NAMESPACE

namespace strongbin {

using Rep = ROCKSDB_NAMESPACE::MemTableRep;

// ---- Entries ----

// What RocksDB puts into a lookup: sorts before all types of the same sequence.
inline constexpr uint8_t kTypeOfSeek = 0x7F;

struct FakeEntry {
  std::string_view key;
  Sequence sequence = 0;
  std::string_view value = {};
  uint8_t type = 1;           // a put
  size_t checksum_bytes = 0;  // behind the value; filled with kChecksumByte
};
inline constexpr char kChecksumByte = '#';

size_t EncodedBytes(const FakeEntry& entry);
void Encode(const FakeEntry& entry, char* buffer);
// The checksum cannot be told from what lies behind the entry.
FakeEntry Decode(const char* encoded);
std::string InternalKeyOf(std::string_view key, Sequence sequence, uint8_t type = kTypeOfSeek);

// The ways in which RocksDB inserts what it has allocated.
struct InsertCall {
  const char* name;
  bool answers;  // whether it tells of a duplicate
  bool (*insert)(Rep& rep, ROCKSDB_NAMESPACE::KeyHandle handle, void** hint);
};
extern const InsertCall kInsertCalls[8];
// InsertKey and InsertKeyConcurrently: what RocksDB uses by default.
extern const InsertCall& kPlainInsert;
extern const InsertCall& kConcurrentInsert;

// Allocates and fills as MemTable::Add does.
ROCKSDB_NAMESPACE::KeyHandle AllocateEntry(Rep* rep, const FakeEntry& entry);
// And inserts. False: duplicate.
bool AddEntry(Rep* rep, const FakeEntry& entry, const InsertCall& call = kPlainInsert);

// ---- Reading ----

// Calls Get; the callback sees entries until it returns false.
void ForEachVersion(Rep* rep, std::string_view key, Sequence snapshot, std::function<bool(const char* entry)> callback);
// Null, or the encoded entry that Get shows first, if it is of the key, as every entry must be.
const char* FirstVersion(Rep* rep, std::string_view key, Sequence snapshot = kMaxSequence);

// How RocksDB ends an iterator.
enum class IteratorEnd : uint8_t {
  kDestructor,  // made "in an arena": runs the destructor and no more
  kDelete,      // made without one: deletes it
};
struct EndIterator {
  IteratorEnd end;
  void operator()(Rep::Iterator* iterator) const;
};
using RepIteratorPtr = std::unique_ptr<Rep::Iterator, EndIterator>;
RepIteratorPtr OpenIterator(Rep* rep, IteratorEnd end = IteratorEnd::kDestructor);

// ---- Who watches a memtable ----

// A write buffer manager that keeps books.
class RecordingCharge final : public BufferCharge {
 public:
  struct Books {
    size_t reserved = 0;
    size_t scheduled = 0;
    size_t freed = 0;
    size_t most_held = 0;  // highest reserved - freed
    // Whether nothing was ever scheduled before it was reserved, or freed before it was scheduled.
    bool in_order = true;

    size_t active() const { return reserved - scheduled; }
    size_t held() const { return reserved - freed; }
  };

  void Reserve(size_t bytes) override { Change(&Books::reserved, bytes); }
  void ScheduleFree(size_t bytes) override { Change(&Books::scheduled, bytes); }
  void Free(size_t bytes) override { Change(&Books::freed, bytes); }
  Books Now() const;

 private:
  void Change(size_t Books::*number, size_t bytes);

  mutable std::mutex mutex_;
  Books books_;  // guarded by mutex_
};

class RecordingListener final : public RepListener {
 public:
  void OnReadOnly(const AppendOnlyRep&) override { ++read_only_calls; }
  void OnEnd(const AppendOnlyRep& rep) override;
  void OnGone() override { ++gone_calls; }

  std::atomic<uint64_t> read_only_calls{0};
  std::atomic<uint64_t> end_calls{0};
  std::atomic<uint64_t> gone_calls{0};
  // As of OnEnd.
  std::atomic<size_t> held_bytes_at_end{0};
  std::atomic<uint64_t> unappended_at_end{0};
};

// A memtable and all that it needs to live. The pool is the test's.
struct FakeMemTable {
  explicit FakeMemTable(ChunkPool* pool, RepMemory::Home home = RepMemory::Home::kPool);
  ~FakeMemTable() { End(); }
  void End() { rep.reset(); }
  AppendOnlyRep* operator->() const { return rep.get(); }
  TableStats Stats() const;

  ROCKSDB_NAMESPACE::Allocator arena;
  const std::shared_ptr<RecordingCharge> charge = std::make_shared<RecordingCharge>();
  const std::shared_ptr<RecordingListener> listener = std::make_shared<RecordingListener>();
  std::unique_ptr<AppendOnlyRep> rep;
};

}  // namespace strongbin
