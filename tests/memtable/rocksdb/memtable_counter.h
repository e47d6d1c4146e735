// Counts the memtables of a database.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include <rocksdb/listener.h>
#include <rocksdb/options.h>

namespace strongbin {

// Thread safety: any thread.
class MemtableCounter final : public ROCKSDB_NAMESPACE::EventListener {
 public:
  void OnMemTableSealed(const ROCKSDB_NAMESPACE::MemTableInfo& info) override {
    sealed_.fetch_add(1);
    entries_.fetch_add(info.num_entries);
  }
  void OnFlushCompleted(ROCKSDB_NAMESPACE::DB*, const ROCKSDB_NAMESPACE::FlushJobInfo&) override {
    flushes_.fetch_add(1);
  }

  // Until all that have been sealed are in files. Flushes that are put together, or fail, would be waited for in vain.
  void WaitForFlushes() const {
    while (flushes() < sealed()) std::this_thread::yield();
  }

  uint64_t sealed() const { return sealed_.load(); }
  uint64_t entries() const { return entries_.load(); }  // in the sealed ones
  uint64_t flushes() const { return flushes_.load(); }

 private:
  std::atomic<uint64_t> sealed_{0};
  std::atomic<uint64_t> entries_{0};
  std::atomic<uint64_t> flushes_{0};
};

inline std::shared_ptr<MemtableCounter> CountMemtables(ROCKSDB_NAMESPACE::Options* options) {
  auto counter = std::make_shared<MemtableCounter>();
  options->listeners.push_back(counter);
  return counter;
}

}  // namespace strongbin
