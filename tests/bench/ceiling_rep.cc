// A RocksDB memtable that no real one can beat: what is left of a workload when the memtable costs next to nothing.
//
// Registered as "ceiling" when the shared library is preloaded; for tools/dropin.py --ceiling. A benchmark's aid, not a
// memtable: it only suits db_bench's keys, and entries of one size, and loses what is written after the first read.
//
// Writes: takes the bytes, each thread into huge pages of its own, and stores nothing else. Reads: the first one sorts
// everything into one contiguous array and makes a table by key number, so that a lookup or seek is one load and a step
// the next element.
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
#include <vector>

#include <rocksdb/memtablerep.h>
#include <rocksdb/utilities/object_registry.h>

#include "strongbin/memtable/entry.h"
#include "strongbin/memtable/rocksdb/encoded_entry.h"

namespace strongbin {

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

// Address space for as much as is wanted; what is touched is memory, in huge pages.
class Mapping {
 public:
  explicit Mapping(size_t bytes) : bytes_(bytes) {
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    madvise(mapped, bytes, MADV_HUGEPAGE);
    begin_ = static_cast<char*>(mapped);
  }
  ~Mapping() { munmap(begin_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  char* begin() const { return begin_; }

 private:
  const size_t bytes_;
  char* begin_;
};

// The bytes of one thread's entries, one behind the other.
struct Stretch {
  static constexpr size_t kMaxBytes = size_t{16} << 30;
  // So rarely does a thread tell how much it has written.
  static constexpr ptrdiff_t kTellBytes = 64 << 10;

  const Mapping mapping{kMaxBytes};
  char* end = mapping.begin();
  const char* told = end;
};

// The entries of all threads in order, one behind the other, and where each key number begins.
class Order {
 public:
  explicit Order(const std::vector<std::unique_ptr<Stretch>>& stretches) {
    struct Record {
      uint64_t number, rest, tag;
      const char* entry;
    };
    std::vector<Record> records;
    for (const auto& stretch : stretches) {
      for (const char* entry = stretch->mapping.begin(); entry < stretch->end;) {
        const std::string_view internal_key = LengthPrefixed(entry);
        const std::string_view value = LengthPrefixed(internal_key.data() + internal_key.size());
        const InternalKey key(internal_key);
        const auto bytes = static_cast<size_t>(value.data() + value.size() - entry);
        if (entry_bytes_ != 0 && entry_bytes_ != bytes) std::abort();
        entry_bytes_ = bytes;
        records.push_back(
            {KeyPrefix(key.user_key), KeyPrefix(key.user_key.substr(sizeof(uint64_t))), ~key.sequence, entry});
        entry += bytes;
      }
    }
    std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
      return a.number != b.number ? a.number < b.number : a.rest != b.rest ? a.rest < b.rest : a.tag < b.tag;
    });
    copy_ = std::make_unique<Mapping>(records.size() * entry_bytes_ + 1);
    for (const Record& record : records) {
      while (first_.size() <= record.number) first_.push_back(static_cast<uint32_t>(size_));
      std::memcpy(copy_->begin() + size_++ * entry_bytes_, record.entry, entry_bytes_);
    }
  }

  size_t size() const { return size_; }
  const char* At(size_t index) const { return copy_->begin() + index * entry_bytes_; }
  size_t LowerBound(const InternalKey& key) const {
    const uint64_t number = KeyPrefix(key.user_key);
    size_t index = number < first_.size() ? first_[number] : size_;
    while (index < size_ && IsBefore(InternalKey(LengthPrefixed(At(index))), key)) ++index;
    return index;
  }

 private:
  static bool IsBefore(const InternalKey& a, const InternalKey& b) {
    const int order = CompareKeys(a.user_key, b.user_key);
    return order != 0 ? order < 0 : a.sequence > b.sequence;
  }

  size_t size_ = 0;
  size_t entry_bytes_ = 0;
  std::unique_ptr<Mapping> copy_;
  std::vector<uint32_t> first_;  // by key number: the first entry at or behind it
};

class CeilingIterator final : public rdb::MemTableRep::Iterator {
 public:
  bool Valid() const override { return index_ < order_->size(); }
  const char* key() const override { return order_->At(index_); }
  void Next() override { ++index_; }
  void Prev() override { --index_; }  // wraps before the first
  void Seek(const rdb::Slice& key, const char*) override {
    index_ = order_->LowerBound(InternalKey({key.data(), key.size()}));
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
    } own;
    if (own.rep != this || own.id != id_) own = {this, id_, NewStretch()};
    *buf = own.stretch->end;
    own.stretch->end += len;
    if (const ptrdiff_t untold = own.stretch->end - own.stretch->told; untold >= Stretch::kTellBytes) {
      written_bytes_.fetch_add(static_cast<size_t>(untold), std::memory_order_relaxed);
      own.stretch->told = own.stretch->end;
    }
    return *buf;
  }
  bool InsertKey(rdb::KeyHandle) override { return true; }
  bool InsertKeyWithHint(rdb::KeyHandle, void**) override { return true; }
  bool InsertKeyConcurrently(rdb::KeyHandle) override { return true; }
  bool InsertKeyWithHintConcurrently(rdb::KeyHandle, void**) override { return true; }
  void Insert(rdb::KeyHandle) override {}
  void InsertConcurrently(rdb::KeyHandle) override {}

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
      order_.store(new Order(stretches_), std::memory_order_release);
    }
    return order_.load(std::memory_order_relaxed);
  }

  const uint64_t id_ = NextId();
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
  rdb::ObjectLibrary::Default()->AddFactory<rdb::MemTableRepFactory>(
      "ceiling", [](const std::string&, std::unique_ptr<rdb::MemTableRepFactory>* guard, std::string*) {
        guard->reset(new CeilingFactory);
        return guard->get();
      });
}

}  // namespace

}  // namespace strongbin
