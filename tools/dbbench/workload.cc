#include "strongbin/tools/dbbench/workload.h"

#include <algorithm>
#include <cstring>

namespace strongbin::dbbench {
namespace {

OperationKind KindOf(TestKind test) {
  switch (test) {
    case TestKind::kReadRandom:
      return OperationKind::kGet;
    case TestKind::kSeekRandom:
      return OperationKind::kScan;
    case TestKind::kReadSequential:
      return OperationKind::kNext;
    default:
      return OperationKind::kWrite;
  }
}

OperationKind MixedKind(uint64_t random) {
  const uint64_t percent = random % 100;
  if (percent < kMixedReadPercent) return OperationKind::kGet;
  return percent < kMixedReadPercent + kMixedWritePercent ? OperationKind::kWrite : OperationKind::kScan;
}

}  // namespace

DataSet::DataSet(const Config& config, TestKind test)
    : key_count_(config.keys),
      key_bytes_(config.key_bytes),
      value_bytes_(config.value_bytes),
      number_bytes_(std::min<size_t>(config.key_bytes, 8)),
      sorted_(test == TestKind::kWriteSorted),
      permutation_(static_cast<unsigned>(8 * number_bytes_), config.seed),
      values_((size_t{1} << kWindowBits) + config.value_bytes) {
  for (size_t i = 0; i < values_.size(); i += sizeof(uint64_t)) {
    const uint64_t word = KeyPermutation::Scramble(config.seed + i);
    std::memcpy(values_.data() + i, &word, std::min(sizeof(word), values_.size() - i));
  }
}

void DataSet::PutNumber(uint64_t number, char* key) const {
  for (size_t i = number_bytes_; i-- > 0; number >>= 8) key[i] = static_cast<char>(number & 0xff);
}

void DataSet::MakeKey(uint64_t index, char* key) const {
  const uint64_t number = sorted_ ? index : permutation_.Apply(index);
  PutNumber(number, key);
  for (size_t i = number_bytes_; i < key_bytes_; i += sizeof(uint64_t)) {
    const uint64_t word = KeyPermutation::Scramble(number + i);
    std::memcpy(key + i, &word, std::min(sizeof(word), key_bytes_ - i));
  }
}

uint64_t DataSet::IndexOf(std::string_view key) const {
  uint64_t number = 0;
  for (size_t i = 0; i < number_bytes_; ++i) number = number << 8 | static_cast<unsigned char>(key[i]);
  return sorted_ ? number : permutation_.Invert(number);
}

std::string DataSet::Boundary(uint64_t numerator, uint64_t denominator) const {
  const uint64_t top = number_bytes_ == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * number_bytes_)) - 1;
  std::string boundary(number_bytes_, '\0');
  PutNumber(sorted_ ? key_count_ / denominator * numerator : top / denominator * numerator, boundary.data());
  return boundary;
}

uint64_t OperationsOf(const Config& config, TestKind test) {
  return WritesOnly(test) || test == TestKind::kReadSequential ? config.keys : config.reads;
}

Script::Script(const DataSet& data, const WorkShape& shape, size_t thread)
    : data_(data), shape_(shape), thread_(thread) {
  uint64_t operations = 0;
  const uint64_t batches = (shape.operations + shape.batch_entries - 1) / shape.batch_entries;
  for (uint64_t batch = thread; batch < batches; batch += shape.threads) {
    const uint64_t first = batch * shape.batch_entries;
    batch_sizes_.push_back(static_cast<size_t>(std::min<uint64_t>(shape.batch_entries, shape.operations - first)));
    operations += batch_sizes_.back();
  }
  if (!shape.load && shape.test == TestKind::kReadSequential) return;
  const bool mixed = !shape.load && shape.test == TestKind::kMixed;
  keys_.resize(operations * data.key_bytes());
  if (mixed) kinds_.reserve(operations);
  char* key = keys_.data();
  for (size_t batch = 0; batch < batch_sizes_.size(); ++batch) {
    const uint64_t first = GlobalBatch(batch) * shape.batch_entries;
    for (uint64_t operation = first; operation < first + batch_sizes_[batch]; ++operation, key += data.key_bytes()) {
      data.MakeKey(ChooseKey(operation), key);
      if (mixed) kinds_.push_back(MixedKind(KeyPermutation::Scramble(~shape.seed ^ operation)));
    }
  }
}

uint64_t Script::ChooseKey(uint64_t operation) const {
  if (shape_.load || !StartsLoaded(shape_.test)) return operation;
  const uint64_t random =
      KeyPermutation::Scramble(KeyPermutation::Scramble(shape_.seed) + operation) % data_.key_count();
  if (shape_.test != TestKind::kOverwrite && shape_.test != TestKind::kMixed) return random;
  const uint64_t own = random - random % shape_.threads + thread_;
  return own < data_.key_count() ? own : thread_;
}

Batch Script::At(size_t batch) const {
  const size_t first = batch * shape_.batch_entries;  // only a thread's last batch can be short
  Batch result;
  result.data = &data_;
  if (!keys_.empty()) result.keys = keys_.data() + first * data_.key_bytes();
  if (!kinds_.empty()) result.kinds = kinds_.data() + first;
  result.kind = shape_.load ? OperationKind::kWrite : KindOf(shape_.test);
  result.count = batch_sizes_[batch];
  // Versions of a test that follows the loading lie above those of the loading.
  result.first_version =
      GlobalBatch(batch) * shape_.batch_entries + (!shape_.load && StartsLoaded(shape_.test) ? data_.key_count() : 0);
  result.ascending = !StartsLoaded(shape_.test) && shape_.test == TestKind::kWriteSorted && shape_.threads == 1;
  return result;
}

void Script::MarkKeys(uint64_t operations, std::vector<bool>* seen) const {
  if (keys_.empty()) return;
  for (uint64_t i = 0; i < operations; ++i) {
    (*seen)[data_.IndexOf({keys_.data() + i * data_.key_bytes(), data_.key_bytes()})] = true;
  }
}

}  // namespace strongbin::dbbench
