#include "strongbin/tests/memtable/rocksdb/differential_faults.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/memtablerep.h>
#include <rocksdb/utilities/object_registry.h>

namespace strongbin::differential {

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

enum class Fault : uint8_t { kNone, kLosesInserts, kLosesLookups, kSkipsBackward };

// Each so many calls one is wrong.
constexpr uint64_t kFaultInterval = 20;

class FaultCounter {
 public:
  explicit FaultCounter(bool on) : on_(on) {}
  bool IsNext() { return on_ && count_.fetch_add(1, std::memory_order_relaxed) % kFaultInterval == kFaultInterval - 1; }

 private:
  const bool on_;
  std::atomic<uint64_t> count_{0};
};

class SkippingIterator final : public rdb::MemTableRep::Iterator {
 public:
  SkippingIterator(rdb::MemTableRep::Iterator* inner, FaultCounter* skip) : inner_(inner), skip_(skip) {}
  // The storage is the memtable's.
  static void operator delete(void*) {}

  bool Valid() const override { return inner_->Valid(); }
  const char* key() const override { return inner_->key(); }
  void Next() override { inner_->Next(); }
  void Prev() override {
    inner_->Prev();
    if (inner_->Valid() && skip_->IsNext()) inner_->Prev();
  }
  void Seek(const rdb::Slice& key, const char* entry) override { inner_->Seek(key, entry); }
  void SeekForPrev(const rdb::Slice& key, const char* entry) override { inner_->SeekForPrev(key, entry); }
  void SeekToFirst() override { inner_->SeekToFirst(); }
  void SeekToLast() override { inner_->SeekToLast(); }

 private:
  std::unique_ptr<rdb::MemTableRep::Iterator> inner_;
  FaultCounter* const skip_;
};

class FaultyRep final : public rdb::MemTableRep {
 public:
  FaultyRep(rdb::MemTableRep* inner, rdb::Allocator* allocator, Fault fault)
      : MemTableRep(allocator),
        inner_(inner),
        size_factor_(fault == Fault::kNone ? 4 : 1),
        lose_insert_(fault == Fault::kLosesInserts),
        lose_lookup_(fault == Fault::kLosesLookups),
        skip_(fault == Fault::kSkipsBackward),
        skips_(fault == Fault::kSkipsBackward) {}

  rdb::KeyHandle Allocate(size_t len, char** buffer) override {
    allocated_bytes_.fetch_add(len, std::memory_order_relaxed);
    return inner_->Allocate(len, buffer);
  }
  void Insert(rdb::KeyHandle handle) override { InsertKey(handle); }
  bool InsertKey(rdb::KeyHandle handle) override { return lose_insert_.IsNext() || inner_->InsertKey(handle); }
  bool InsertKeyWithHint(rdb::KeyHandle handle, void** hint) override {
    return lose_insert_.IsNext() || inner_->InsertKeyWithHint(handle, hint);
  }
  bool InsertKeyConcurrently(rdb::KeyHandle handle) override {
    return lose_insert_.IsNext() || inner_->InsertKeyConcurrently(handle);
  }
  bool InsertKeyWithHintConcurrently(rdb::KeyHandle handle, void** hint) override {
    return lose_insert_.IsNext() || inner_->InsertKeyWithHintConcurrently(handle, hint);
  }
  bool Contains(const char* key) const override { return inner_->Contains(key); }
  void MarkReadOnly() override { inner_->MarkReadOnly(); }
  void MarkFlushed() override { inner_->MarkFlushed(); }
  void Get(const rdb::LookupKey& key, void* arguments, bool (*callback)(void*, const char*)) override {
    if (!lose_lookup_.IsNext()) inner_->Get(key, arguments, callback);
  }
  uint64_t ApproximateNumEntries(const rdb::Slice& start, const rdb::Slice& end) override {
    return inner_->ApproximateNumEntries(start, end);
  }
  void UniqueRandomSample(uint64_t entry_count, uint64_t sample_count,
                          std::unordered_set<const char*>* entries) override {
    inner_->UniqueRandomSample(entry_count, sample_count, entries);
  }
  // The skip list has everything in RocksDB's arena and reports nothing of its own.
  size_t ApproximateMemoryUsage() override { return allocated_bytes_.load() * (size_factor_ - 1); }
  Iterator* GetIterator(rdb::Arena* arena) override {
    if (!skips_) return inner_->GetIterator(arena);
    const std::lock_guard lock(mutex_);
    auto& storage = storage_.emplace_back(std::make_unique<std::byte[]>(sizeof(SkippingIterator)));
    return ::new (storage.get()) SkippingIterator(inner_->GetIterator(nullptr), &skip_);
  }

 private:
  const std::unique_ptr<rdb::MemTableRep> inner_;
  const size_t size_factor_;
  std::atomic<size_t> allocated_bytes_{0};
  FaultCounter lose_insert_;
  FaultCounter lose_lookup_;
  FaultCounter skip_;
  const bool skips_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::byte[]>> storage_;
};

class FaultyFactory final : public rdb::MemTableRepFactory {
 public:
  FaultyFactory(const char* name, Fault fault) : name_(name), fault_(fault) {}

  const char* Name() const override { return name_; }
  using MemTableRepFactory::CreateMemTableRep;
  rdb::MemTableRep* CreateMemTableRep(const rdb::MemTableRep::KeyComparator& comparator, rdb::Allocator* allocator,
                                      const rdb::SliceTransform* transform, rdb::Logger* logger) override {
    return new FaultyRep(rdb::SkipListFactory().CreateMemTableRep(comparator, allocator, transform, logger), allocator,
                         fault_);
  }
  bool IsInsertConcurrentlySupported() const override { return true; }
  bool CanHandleDuplicatedKey() const override { return true; }

 private:
  const char* const name_;
  const Fault fault_;
};

}  // namespace

void RegisterFaultyFactories() {
  for (const auto& [name, fault] :
       {std::pair(kOtherSize, Fault::kNone), std::pair(kLosesInserts, Fault::kLosesInserts),
        std::pair(kLosesLookups, Fault::kLosesLookups), std::pair(kSkipsBackward, Fault::kSkipsBackward)}) {
    rdb::ObjectLibrary::Default()->AddFactory<rdb::MemTableRepFactory>(
        name, [name, fault](const std::string&, std::unique_ptr<rdb::MemTableRepFactory>* guard, std::string*) {
          *guard = std::make_unique<FaultyFactory>(name, fault);
          return guard->get();
        });
  }
}

}  // namespace strongbin::differential
