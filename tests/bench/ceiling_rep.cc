// A RocksDB memtable that no real one can beat: what is left of a workload when the memtable costs next to nothing.
//
// Registered as "ceiling" when the shared library is preloaded; for tools/dropin.py --ceiling. A benchmark's aid, not a
// memtable: it only suits db_bench's keys, and entries of one size, and loses what is written after the first read.
//
// Writes: takes the bytes, each thread into pieces of its own of memory that was made when the library was loaded, and
// stores nothing else. Reads: the first one sorts everything into one contiguous array and makes a table by key number,
// so that a lookup or seek is one load and a step the next element. A flush sorts, and copies nothing.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <sys/mman.h>
#include <utility>
#include <vector>

#include <rocksdb/memtablerep.h>
#include <rocksdb/utilities/object_registry.h>

#include "strongbin/memtable/entry.h"
#include "strongbin/memtable/record_sort.h"
#include "strongbin/memtable/rocksdb/encoded_entry.h"
#include "strongbin/memtable/sorted_run.h"

namespace strongbin {

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

// Memory whose pages are there; huge ones where `huge`.
char* NewPages(size_t bytes, bool huge) {
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  if (huge) madvise(mapped, bytes, MADV_HUGEPAGE);
  madvise(mapped, bytes, MADV_POPULATE_WRITE);
  return static_cast<char*>(mapped);
}

// Pieces of memory that was made at load, as long as there is any; they are never given back.
class Prepared {
 public:
  static constexpr size_t kPieceBytes = size_t{1} << 20;

  static char* Take() {
    // Relaxed: only the number counts.
    const size_t piece = Get().taken_.fetch_add(1, std::memory_order_relaxed);
    return piece < kPieces ? Get().begin_ + piece * kPieceBytes : NewPages(kPieceBytes, /*huge=*/false);
  }
  static Prepared& Get() {
    static Prepared prepared;
    return prepared;
  }

 private:
  static constexpr size_t kPieces = 768;  // more than any of dropin.py's workloads writes

  char* const begin_ = NewPages(kPieces * kPieceBytes, /*huge=*/true);
  std::atomic<size_t> taken_{0};
};

// The bytes of one thread's entries, one behind the other in pieces.
class Stretch {
 public:
  char* Allocate(size_t bytes) {
    if (bytes > left_) {
      if (bytes > Prepared::kPieceBytes) throw std::bad_alloc();
      if (end_ != nullptr) ends_.push_back(end_);
      end_ = Prepared::Take();
      begins_.push_back(end_);
      left_ = Prepared::kPieceBytes;
    }
    left_ -= bytes;
    return std::exchange(end_, end_ + bytes);
  }
  size_t pieces() const { return begins_.size(); }
  const char* begin(size_t piece) const { return begins_[piece]; }
  const char* end(size_t piece) const { return piece < ends_.size() ? ends_[piece] : end_; }

 private:
  char* end_ = nullptr;
  size_t left_ = 0;
  std::vector<const char*> begins_, ends_;
};

// The entries of all threads in order. `contiguous`: one behind the other, and where each key number begins.
class Order {
 public:
  Order(const std::vector<std::unique_ptr<Stretch>>& stretches, bool contiguous) {
    std::vector<RunRecord> records;
    for (const auto& stretch : stretches) {
      for (size_t piece = 0; piece < stretch->pieces(); ++piece) {
        for (const char* entry = stretch->begin(piece); entry < stretch->end(piece);) {
          const std::string_view internal_key = LengthPrefixed(entry);
          const std::string_view value = LengthPrefixed(internal_key.data() + internal_key.size());
          const std::string_view user_key = InternalKey(internal_key).user_key;
          const auto bytes = static_cast<size_t>(value.data() + value.size() - entry);
          if (entry_bytes_ != 0 && entry_bytes_ != bytes) std::abort();
          entry_bytes_ = bytes;
          // db_bench's keys differ in their first eight bytes.
          records.push_back({.rest = records.size(), .prefix = KeyPrefix(user_key)});
          entries_.push_back(entry);
          entry += bytes;
        }
      }
    }
    SortByBits(records.data(), records.size());
    for (size_t begin = 0; begin < records.size();) {
      size_t end = begin;
      while (end < records.size() && records[end].prefix == records[begin].prefix) ++end;
      // Newest first; threads' entries are mixed.
      std::sort(records.begin() + static_cast<ptrdiff_t>(begin), records.begin() + static_cast<ptrdiff_t>(end),
                [this](const RunRecord& a, const RunRecord& b) {
                  return InternalKey(LengthPrefixed(entries_[a.rest])).sequence >
                         InternalKey(LengthPrefixed(entries_[b.rest])).sequence;
                });
      begin = end;
    }
    std::vector<const char*> in_order;
    in_order.reserve(records.size());
    if (contiguous) copy_ = NewPages(records.size() * entry_bytes_ + 1, /*huge=*/true);
    for (const RunRecord& record : records) {
      const char* entry = entries_[record.rest];
      if (contiguous) {
        while (first_.size() <= record.prefix) first_.push_back(static_cast<uint32_t>(in_order.size()));
        entry = static_cast<char*>(std::memcpy(copy_ + in_order.size() * entry_bytes_, entry, entry_bytes_));
      }
      in_order.push_back(entry);
    }
    entries_ = std::move(in_order);
  }
  ~Order() {
    if (copy_ != nullptr) munmap(copy_, entries_.size() * entry_bytes_ + 1);
  }
  Order(const Order&) = delete;
  Order& operator=(const Order&) = delete;

  size_t size() const { return entries_.size(); }
  const char* At(size_t index) const { return copy_ != nullptr ? copy_ + index * entry_bytes_ : entries_[index]; }
  // Brings what comes soon into the cache; contiguous entries the processor fetches by itself.
  void WakeBehind(size_t index) const {
    constexpr size_t kAhead = 8;
    if (copy_ != nullptr || index + kAhead >= entries_.size()) return;
    __builtin_prefetch(entries_[index + kAhead]);
    __builtin_prefetch(entries_[index + kAhead] + 64);
  }
  bool HasNumberOf(const InternalKey& key) const {
    const uint64_t number = KeyPrefix(key.user_key);
    return number + 1 < first_.size() ? first_[number] < first_[number + 1] : number + 1 == first_.size();
  }
  size_t LowerBound(const InternalKey& key) const {
    const uint64_t number = KeyPrefix(key.user_key);
    size_t index = number < first_.size() ? first_[number] : size();
    while (index < size() && IsBefore(InternalKey(LengthPrefixed(At(index))), key)) ++index;
    return index;
  }

 private:
  static bool IsBefore(const InternalKey& a, const InternalKey& b) {
    const int order = CompareKeys(a.user_key, b.user_key);
    return order != 0 ? order < 0 : a.sequence > b.sequence;
  }

  std::vector<const char*> entries_;
  size_t entry_bytes_ = 0;
  char* copy_ = nullptr;
  std::vector<uint32_t> first_;  // by key number: the first entry at or behind it
};

class CeilingIterator final : public rdb::MemTableRep::Iterator {
 public:
  bool Valid() const override { return index_ < order_->size(); }
  const char* key() const override { return order_->At(index_); }
  void Next() override { order_->WakeBehind(++index_); }
  void Prev() override { --index_; }  // wraps before the first
  void Seek(const rdb::Slice& key, const char* memtable_key) override {
    const InternalKey target({key.data(), key.size()});
    index_ = memtable_key != nullptr && !order_->HasNumberOf(target) ? order_->size() : order_->LowerBound(target);
  }
  void SeekForPrev(const rdb::Slice& key, const char* memtable_key) override {
    Seek(key, memtable_key);
    --index_;
  }
  void SeekToFirst() override { index_ = 0; }
  void SeekToLast() override { index_ = order_->size() - 1; }

  static void operator delete(void*) {}

  const Order* order_ = nullptr;
  size_t index_ = 0;
};

// RocksDB destroys iterators or forgets them; either way the next one takes the room.
CeilingIterator* ThreadsIterator(const Order* order) {
  alignas(CeilingIterator) thread_local char room[16][sizeof(CeilingIterator)];
  thread_local unsigned turn = 0;
  auto* iterator = new (room[turn++ % 16]) CeilingIterator;
  iterator->order_ = order;
  return iterator;
}

class CeilingRep final : public rdb::MemTableRep {
 public:
  explicit CeilingRep(rdb::Allocator* allocator) : MemTableRep(allocator) {}
  ~CeilingRep() override { delete order_.load(); }

  rdb::KeyHandle Allocate(const size_t len, char** buf) override {
    thread_local struct {
      const CeilingRep* rep = nullptr;
      uint64_t id = 0;
      Stretch* stretch = nullptr;
      size_t untold_bytes = 0;
    } own;
    if (own.rep != this || own.id != id_) own = {this, id_, NewStretch()};
    *buf = own.stretch->Allocate(len);
    // So rarely does a thread tell how much it has written.
    constexpr size_t kTellBytes = 64 << 10;
    if ((own.untold_bytes += len) >= kTellBytes) {
      written_bytes_.fetch_add(std::exchange(own.untold_bytes, 0), std::memory_order_relaxed);
    }
    return *buf;
  }
  bool InsertKey(rdb::KeyHandle) override { return true; }
  bool InsertKeyWithHint(rdb::KeyHandle, void**) override { return true; }
  bool InsertKeyConcurrently(rdb::KeyHandle) override { return true; }
  bool InsertKeyWithHintConcurrently(rdb::KeyHandle, void**) override { return true; }
  void Insert(rdb::KeyHandle) override {}
  void InsertConcurrently(rdb::KeyHandle) override {}

  void MarkReadOnly() override { is_read_only_.store(true, std::memory_order_relaxed); }
  bool Contains(const char*) const override { return false; }
  size_t ApproximateMemoryUsage() override { return written_bytes_.load(std::memory_order_relaxed); }
  Iterator* GetIterator(rdb::Arena*) override { return ThreadsIterator(Sorted()); }
  Iterator* GetDynamicPrefixIterator(rdb::Arena*) override { return ThreadsIterator(Sorted()); }

 private:
  static uint64_t NextId() {
    static std::atomic<uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  Stretch* NewStretch() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stretches_.emplace_back(std::make_unique<Stretch>()).get();
  }
  // Acquire and release: the order is whole when its address is seen.
  const Order* Sorted() {
    if (const Order* order = order_.load(std::memory_order_acquire)) return order;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (order_.load(std::memory_order_relaxed) == nullptr) {
      // Relaxed: a flush comes much later.
      const bool is_flush = is_read_only_.load(std::memory_order_relaxed);
      order_.store(new Order(stretches_, /*contiguous=*/!is_flush), std::memory_order_release);
    }
    return order_.load(std::memory_order_relaxed);
  }

  const uint64_t id_ = NextId();
  std::atomic<bool> is_read_only_{false};
  std::atomic<size_t> written_bytes_{0};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Stretch>> stretches_;  // mutex_
  std::atomic<const Order*> order_{nullptr};
};

class CeilingFactory final : public rdb::MemTableRepFactory {
 public:
  const char* Name() const override { return "ceiling"; }
  using MemTableRepFactory::CreateMemTableRep;
  rdb::MemTableRep* CreateMemTableRep(const rdb::MemTableRep::KeyComparator&, rdb::Allocator* allocator,
                                      const rdb::SliceTransform*, rdb::Logger*) override {
    return new CeilingRep(allocator);
  }
  bool IsInsertConcurrentlySupported() const override { return true; }
  bool CanHandleDuplicatedKey() const override { return true; }
};

[[gnu::constructor]] void Register() {
  static_cast<void>(Prepared::Get());
  rdb::ObjectLibrary::Default()->AddFactory<rdb::MemTableRepFactory>(
      "ceiling", [](const std::string&, std::unique_ptr<rdb::MemTableRepFactory>* guard, std::string*) {
        guard->reset(new CeilingFactory);
        return guard->get();
      });
}

}  // namespace

}  // namespace strongbin
