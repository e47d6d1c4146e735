// The data set and the operations on it: what is asked of every engine alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strongbin/tools/dbbench/config.h"
#include "strongbin/tools/dbbench/key_permutation.h"

namespace strongbin::dbbench {

// Keys and values by number, equal on every engine for equal flags.
//
// A key begins with a number in big-endian order: its own index where keys are written sorted, else a seeded
// permutation of the indexes, so that all keys are distinct. The rest of the key is derived from the number. A value is
// a window into one random buffer, chosen by the version; a version is the number of the write that made it. Owns the
// buffer of values. Immutable after construction; any thread. Views of values live as long as the data set.
class DataSet {
 public:
  DataSet(const Config& config, TestKind test);

  uint64_t key_count() const { return key_count_; }
  size_t key_bytes() const { return key_bytes_; }
  size_t value_bytes() const { return value_bytes_; }

  // Writes key_bytes() bytes.
  void MakeKey(uint64_t index, char* key) const;
  // The index that MakeKey was given.
  uint64_t IndexOf(std::string_view key) const;
  // A number that splits the keys' range in two: `numerator` / `denominator` of it lies below.
  std::string Boundary(uint64_t numerator, uint64_t denominator) const;

  std::string_view Value(uint64_t version) const {
    return {values_.data() + ((version * 0x9e3779b97f4a7c15) >> (64 - kWindowBits)), value_bytes_};
  }

 private:
  static constexpr unsigned kWindowBits = 20;

  void PutNumber(uint64_t number, char* key) const;

  uint64_t key_count_;
  size_t key_bytes_;
  size_t value_bytes_;
  size_t number_bytes_;
  bool sorted_;
  KeyPermutation permutation_;
  std::vector<char> values_;
};

enum class OperationKind : uint8_t { kWrite, kGet, kScan, kNext };

// Operations that follow each other in one thread, made ahead of the clock. A view of a Script.
struct Batch {
  const DataSet* data = nullptr;
  const char* keys = nullptr;            // empty for kNext
  const OperationKind* kinds = nullptr;  // null when all are `kind`
  OperationKind kind = OperationKind::kWrite;
  size_t count = 0;
  uint64_t first_version = 0;
  bool ascending = false;  // each key is above all keys that the thread wrote before

  std::string_view Key(size_t i) const { return {keys + i * data->key_bytes(), data->key_bytes()}; }
  std::string_view Value(size_t i) const { return data->Value(first_version + i); }
};

// How the operations of one run are cut up.
struct WorkShape {
  TestKind test = TestKind::kWriteRandom;
  bool load = false;  // the loading of the data set instead of the test itself
  uint64_t operations = 0;
  size_t batch_entries = 1;
  size_t threads = 1;
  uint64_t seed = 0;
};

// The operations of one thread, with all keys already made. Batch number b of all goes to thread b modulo threads, so
// that the total is the same for any number of threads. Where a key is written more than once, one thread makes all
// writes and point reads of it, so that its newest version does not depend on how threads are scheduled.
class Script {
 public:
  Script(const DataSet& data, const WorkShape& shape, size_t thread);

  size_t batch_count() const { return batch_sizes_.size(); }
  // The number of the batch among those of all threads.
  uint64_t GlobalBatch(size_t batch) const { return batch * shape_.threads + thread_; }
  Batch At(size_t batch) const;
  // Sets the bit of each key that the first `operations` of the script name.
  void MarkKeys(uint64_t operations, std::vector<bool>* seen) const;

 private:
  uint64_t ChooseKey(uint64_t operation) const;

  const DataSet& data_;
  WorkShape shape_;
  size_t thread_;
  std::vector<size_t> batch_sizes_;
  std::vector<char> keys_;
  std::vector<OperationKind> kinds_;
};

// How many operations the timed run of `test` has.
uint64_t OperationsOf(const Config& config, TestKind test);

}  // namespace strongbin::dbbench
