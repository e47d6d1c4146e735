// Random histories of the RocksDB memtable and its iterators against a std::map.
#include "strongbin/tests/memtable/rocksdb/rep_model.h"

#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/key_history.h"
#include "strongbin/tests/memtable/rocksdb/fake_engine.h"

namespace strongbin {
namespace {

// Shows what an iterator of a memtable has to show. After an ordered seek that is all that there was at the seek; after
// a lookup, the versions of one key that there are when it moves.
class RepModelIterator {
 public:
  const ModelEntry* entry() const { return is_lookup_ ? version_ : index_ < shown_.size() ? shown_[index_] : nullptr; }

  void SeekToFirst(const Model& model) {
    Show(model);
    index_ = 0;
  }
  void SeekToLast(const Model& model) {
    Show(model);
    index_ = shown_.size() - 1;  // wraps to nothing when nothing is there
  }
  void Seek(const Model& model, const ModelKey& target) {
    Show(model);
    index_ = IndexOf(model.lower_bound(target), model);
  }
  void SeekForPrev(const Model& model, const ModelKey& target) {
    Show(model);
    index_ = IndexOf(model.upper_bound(target), model) - 1;
  }
  void Lookup(const Model& model, const ModelKey& target) {
    is_lookup_ = true;
    version_ = ModelGet(model, target.key, target.sequence);
  }
  void Next(const Model& model) {
    if (!is_lookup_) {
      ++index_;
      return;
    }
    const auto& [key, sequence] = version_->first;
    version_ = sequence == 0 ? nullptr : ModelGet(model, key, sequence - 1);
  }
  void Prev(const Model& model) {
    if (is_lookup_) Seek(model, version_->first);
    --index_;
  }

 private:
  void Show(const Model& model) {
    is_lookup_ = false;
    shown_.clear();
    for (const ModelEntry& entry : model) shown_.push_back(&entry);
  }
  static size_t IndexOf(Model::const_iterator at, const Model& model) {
    return static_cast<size_t>(std::distance(model.begin(), at));
  }

  std::vector<const ModelEntry*> shown_;
  size_t index_ = SIZE_MAX;
  bool is_lookup_ = false;
  const ModelEntry* version_ = nullptr;
};

struct IteratorConfig {
  History history;
  size_t ascending_count;
  bool huge;
  size_t operation_count;
};

// One memtable, one model, and operations on both.
class IteratorRun {
 public:
  IteratorRun(const IteratorConfig& config, uint64_t seed)
      : config_(config), random_(seed), keys_(config.history, config.ascending_count, config.huge, &random_) {}

  void Run() {
    for (size_t i = 0; i < config_.operation_count; ++i) {
      SCOPED_TRACE("operation " + std::to_string(i));
      // The last quarter of the history is an immutable memtable's.
      if (i == config_.operation_count / 4 * 3) table_->MarkReadOnly();
      Step(/*read_only=*/i >= config_.operation_count / 4 * 3);
      if (testing::Test::HasFatalFailure()) return;
    }
    ASSERT_TRUE(SameContent(table_.rep.get(), model_));
    iterators_.clear();
    table_.End();
    ASSERT_EQ(LentBytes(pool_), 0u);
  }

 private:
  struct PairOfIterators {
    RepIteratorPtr real;
    RepModelIterator model;
  };

  void Step(bool read_only) {
    const uint64_t choice = Below(&random_, 100);
    if (choice < 35 && !read_only) return Add();
    if (choice < 45) return Lookup();
    UseIterator();
  }

  void Add() {
    const ModelKey key = keys_.Next(model_);
    const ModelValue value{static_cast<EntryKind>(Below(&random_, 3)),
                           std::make_shared<const std::string>(RandomValue(&random_, config_.huge))};
    const InsertCall& call = kInsertCalls[Below(&random_, 4)];  // those that answer
    const bool is_new = !model_.contains(key);
    ASSERT_EQ(AddToBoth(table_.rep.get(), &model_, key, value, call), is_new) << Printable(key.key) << call.name;
  }

  ModelKey Target() { return {keys_.ProbeKey(model_), keys_.RandomSnapshot()}; }

  void Lookup() {
    const ModelKey target = Target();
    ASSERT_TRUE(SameVersions(table_.rep.get(), model_, target.key, target.sequence)) << Printable(target.key);
  }

  void UseIterator() {
    // More than the memtable keeps room for.
    if (iterators_.size() < 20 && OneIn(&random_, 3)) {
      iterators_.push_back(
          {OpenIterator(table_.rep.get(), OneIn(&random_, 2) ? IteratorEnd::kDelete : IteratorEnd::kDestructor), {}});
    }
    if (iterators_.empty()) return;
    auto chosen = iterators_.begin();
    std::advance(chosen, Below(&random_, iterators_.size()));
    if (OneIn(&random_, 12)) {
      if (OneIn(&random_, 20)) {
        std::thread([&] { iterators_.erase(chosen); }).join();
      } else {
        iterators_.erase(chosen);
      }
      return;
    }
    std::string history;
    for (uint64_t steps = 1 + Below(&random_, 12); steps > 0; --steps) {
      history += Move(chosen->real.get(), &chosen->model);
      ASSERT_TRUE(SamePlace(*chosen->real, chosen->model.entry())) << history;
    }
  }

  std::string Move(Rep::Iterator* real, RepModelIterator* model) {
    const uint64_t choice = Below(&random_, 20);
    if (choice < 7 && real->Valid()) {
      real->Next();
      model->Next(model_);
      return "N";
    }
    if (choice < 14 && real->Valid()) {
      real->Prev();
      model->Prev(model_);
      return "P";
    }
    const ModelKey target = Target();
    const std::string internal_key = InternalKeyOf(target.key, target.sequence);
    switch (choice % 5) {
      case 0:
        real->SeekToFirst();
        model->SeekToFirst(model_);
        return "F";
      case 1:
        real->SeekToLast();
        model->SeekToLast(model_);
        return "L";
      case 2:
        real->Seek(internal_key, nullptr);
        model->Seek(model_, target);
        return "S(" + PrintableEntry({.key = target.key, .sequence = target.sequence}) + ")";
      case 3:
        real->SeekForPrev(internal_key, nullptr);
        model->SeekForPrev(model_, target);
        return "R(" + PrintableEntry({.key = target.key, .sequence = target.sequence}) + ")";
      default:
        real->Seek(internal_key, ROCKSDB_NAMESPACE::LookupKey(target.key, target.sequence).memtable_key().data());
        model->Lookup(model_, target);
        return "K(" + PrintableEntry({.key = target.key, .sequence = target.sequence}) + ")";
    }
  }

  const IteratorConfig config_;
  Random random_;
  KeyHistory keys_;
  ChunkPool pool_;
  FakeMemTable table_{&pool_};
  Model model_;
  std::list<PairOfIterators> iterators_;
};

class RepIteratorModelTest : public testing::TestWithParam<IteratorConfig> {};

TEST_P(RepIteratorModelTest, IteratorsAgreeWithMap) {
  ForSeeds(Scaled(20, 4), [](uint64_t seed) { IteratorRun(GetParam(), seed).Run(); });
}

INSTANTIATE_TEST_SUITE_P(Histories, RepIteratorModelTest,
                         testing::Values(IteratorConfig{History::kAscending, 0, false, 2000},
                                         IteratorConfig{History::kAscendingThenRandom, 30, false, 2000},
                                         IteratorConfig{History::kAscendingThenRandom, 64, false, 2000},
                                         IteratorConfig{History::kAscendingThenRandom, 65, true, 1000},
                                         IteratorConfig{History::kAscendingThenRandom, 400, false, 3000},
                                         IteratorConfig{History::kRandom, 0, false, 3000},
                                         IteratorConfig{History::kRandom, 0, true, 1000}));

}  // namespace
}  // namespace strongbin
