// Random histories of a table against a std::map of (key, sequence).
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/key_history.h"
#include "strongbin/tests/memtable/table_model.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

struct ModelConfig {
  History history;
  bool checksums;
  bool concurrent_writers;
  bool huge;
  size_t ascending_count;
  size_t operation_count;
};

// One table, one model, and operations on both.
class ModelRun {
 public:
  ModelRun(const ModelConfig& config, uint64_t seed)
      : config_(config),
        random_(seed),
        keys_(config.history, config.ascending_count, config.huge, &random_),
        table_(
            {.pool = &pool_, .concurrent_writers = config.concurrent_writers, .checksum_entries = config.checksums}) {}

  void Run() {
    for (size_t i = 0; i < config_.operation_count; ++i) {
      SCOPED_TRACE("operation " + std::to_string(i));
      Step();
      if (testing::Test::HasFatalFailure()) return;
    }
    ASSERT_TRUE(SameContent(table_, model_));
    iterators_.clear();
    ASSERT_TRUE(table_.ReleaseWarm().ok());
    ASSERT_EQ(table_.MemoryUsage(), 0u);
    ASSERT_EQ(table_.Put("k", 1, "v").code(), Status::Code::kClosed);
  }

 private:
  struct PairOfIterators {
    ModelReadOptions options;
    MemtableIterator real;
    ModelIterator model;
  };

  void Step() {
    const uint64_t choice = Below(&random_, 1000);
    if (choice < 400) return AppendOne();
    if (choice < 480) return AppendMany();
    if (choice < 700) return Lookup();
    if (choice < 970) return UseIterator();
    if (choice < 975) return Freeze();
    if (choice < 979) return Reset();
    if (choice < 980) return CompareAll();
    if (choice < 985) return ReserveSome();
  }

  void CompareAll() { ASSERT_TRUE(SameContent(table_, model_)); }
  void ReserveSome() { ASSERT_EQ(table_.Reserve({Below(&random_, 100), 1000, 1000}).ok(), !frozen_); }

  ModelValue NewModelValue() {
    const auto kind = static_cast<EntryKind>(Below(&random_, 4));
    std::string bytes = kind == EntryKind::kDelete ? "" : RandomValue(&random_, config_.huge);
    if (kind == EntryKind::kValuePointer) bytes = "sixteen-byte-ptr";
    return {kind, std::make_shared<const std::string>(std::move(bytes))};
  }
  // `write` views the model's own bytes, which a borrowed value needs for as long as the table lives.
  Write AsWrite(const ModelKey& key, const ModelValue& value) {
    borrowed_.push_back(value.bytes);
    Write write{.key = key.key, .sequence = key.sequence, .value = *value.bytes, .kind = value.kind};
    const size_t cut = OneIn(&random_, 2) ? Below(&random_, key.key.size() + 1) : key.key.size();
    write.key = std::string_view(key.key).substr(0, cut);
    write.key_suffix = std::string_view(key.key).substr(cut);
    if (OneIn(&random_, 3)) write.value_mode = ValueMode::kBorrow;
    return write;
  }

  void AppendOne() {
    const ModelKey key = keys_.Next(model_);
    const ModelValue value = NewModelValue();
    Status expected = model_.contains(key) ? Status::Code::kDuplicate : Status::Code::kOk;
    Status status;
    const Write write = AsWrite(key, value);
    const bool whole = write.key_suffix.empty();
    const bool gives_up = OneIn(&random_, 20);
    if (OneIn(&random_, 5)) {
      const auto fill = [&](std::span<char> room) {
        if (gives_up) return false;
        std::copy(value.bytes->begin(), value.bytes->end(), room.begin());
        // The table may be used meanwhile.
        return bool{SameLookup(table_.Get(key.key, key.sequence), ModelGet(model_, key.key, key.sequence))};
      };
      status = table_.AppendFilled(write, value.bytes->size(), fill);
      if (gives_up) expected = Status::Code::kAborted;
    } else if (value.kind == EntryKind::kPut && whole) {
      status = table_.Put(key.key, key.sequence, *value.bytes);
    } else if (value.kind == EntryKind::kDelete && whole) {
      status = table_.Delete(key.key, key.sequence);
    } else if (value.kind == EntryKind::kValuePointer && whole) {
      ValuePointer pointer;
      std::memcpy(&pointer, value.bytes->data(), sizeof(pointer));
      status = table_.PutPointer(key.key, key.sequence, pointer);
    } else {
      status = table_.Append(write);
    }
    if (frozen_) expected = Status::Code::kFrozen;
    ASSERT_EQ(status.code(), expected.code()) << Printable(key.key) << " " << key.sequence;
    if (status.ok()) model_.emplace(key, value);
    ASSERT_EQ(table_.entry_count(), model_.size());
  }

  void AppendMany() {
    std::vector<std::pair<ModelKey, ModelValue>> entries(Below(&random_, 100));
    for (auto& [key, value] : entries) {
      key = keys_.Next(model_);
      value = NewModelValue();
    }
    const bool sorted = OneIn(&random_, 2);
    if (sorted) {
      const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
      const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
      std::sort(entries.begin(), entries.end(), less);
      entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
    }
    bool duplicate = false;
    std::vector<Model::iterator> added;
    std::vector<Write> writes;
    for (const auto& [key, value] : entries) {
      const auto [it, is_new] = model_.emplace(key, value);
      if (is_new) added.push_back(it);
      duplicate |= !is_new;
      writes.push_back(AsWrite(key, value));
    }
    const bool gives_up = !writes.empty() && OneIn(&random_, 20);
    Status expected = duplicate ? Status::Code::kDuplicate : Status::Code::kOk;
    Status status;
    if (sorted) {
      status = table_.AppendSortedBatch(writes);
    } else if (OneIn(&random_, 2)) {
      status = table_.AppendBatch(writes);
    } else {
      status = table_.AppendProduced(writes.size(), [&](size_t i, Write* write) {
        *write = writes[i];
        return !gives_up || i + 1 < writes.size();
      });
      if (gives_up) expected = Status::Code::kAborted;
    }
    if (frozen_ && expected != Status::Code::kAborted) expected = Status::Code::kFrozen;
    ASSERT_EQ(status.code(), expected.code());
    for (const auto& it : added) {
      if (!status.ok()) model_.erase(it);
    }
    ASSERT_EQ(table_.entry_count(), model_.size());
  }

  void Lookup() {
    const std::string key = keys_.ProbeKey(model_);
    const Sequence snapshot = keys_.RandomSnapshot();
    ASSERT_TRUE(SameLookup(table_.Get(key, snapshot), ModelGet(model_, key, snapshot)))
        << Printable(key) << " at " << snapshot;
  }

  void UseIterator() {
    if (iterators_.size() < 4 && OneIn(&random_, 4)) {
      ModelReadOptions options{.snapshot = keys_.RandomSnapshot(), .all_versions = OneIn(&random_, 2)};
      if (OneIn(&random_, 3)) options.lower_bound = keys_.ProbeKey(model_);
      if (OneIn(&random_, 3)) options.upper_bound = keys_.ProbeKey(model_);
      // The views of the bounds must stay: the list does not move its nodes.
      iterators_.push_back({options, table_.NewIterator(), ModelIterator(options)});
      iterators_.back().real = table_.NewIterator(iterators_.back().options.AsReadOptions());
    }
    if (iterators_.empty()) return;
    auto chosen = iterators_.begin();
    std::advance(chosen, Below(&random_, iterators_.size()));
    if (OneIn(&random_, 12)) {
      iterators_.erase(chosen);
      return;
    }
    std::string history;
    for (uint64_t steps = 1 + Below(&random_, 12); steps > 0; --steps) {
      history += MoveIterator(&*chosen);
      ASSERT_TRUE(SamePlace(chosen->real, chosen->model))
          << history << " all_versions " << chosen->options.all_versions << " snapshot " << chosen->options.snapshot;
    }
  }
  char MoveIterator(PairOfIterators* pair) {
    const uint64_t choice = Below(&random_, 20);
    if (choice < 8 && pair->model.Valid()) {
      pair->real.Next();
      pair->model.Next();
      return 'N';
    }
    if (choice < 16 && pair->model.Valid()) {
      pair->real.Prev();
      pair->model.Prev();
      return 'P';
    }
    const std::string key = keys_.ProbeKey(model_);
    switch (choice % 4) {
      case 0:
        pair->real.SeekToFirst();
        pair->model.SeekToFirst(model_);
        return 'F';
      case 1:
        pair->real.SeekToLast();
        pair->model.SeekToLast(model_);
        return 'L';
      case 2:
        pair->real.Seek(key);
        pair->model.Seek(model_, key);
        return 'S';
      default:
        pair->real.SeekForPrev(key);
        pair->model.SeekForPrev(model_, key);
        return 'R';
    }
  }

  void Freeze() {
    if (!OneIn(&random_, 3)) return;
    table_.Freeze();
    frozen_ = true;
  }

  void Reset() {
    const bool busy = !iterators_.empty();
    const uint64_t kind = Below(&random_, 3);
    const Status status = kind == 0 ? table_.ResetWarm() : kind == 1 ? table_.ResetCold() : table_.ResetHard();
    ASSERT_EQ(status.code(), busy ? Status::Code::kBusy : Status::Code::kOk);
    ASSERT_EQ(table_.frozen(), busy && frozen_);
    if (busy) {
      if (!frozen_) return;
      iterators_.clear();  // a frozen table is of no more use to the history
      return Reset();
    }
    ASSERT_EQ(table_.MemoryUsage(), 0u);
    frozen_ = false;
    model_.clear();
    borrowed_.clear();
    keys_.Restart();
  }

  const ModelConfig config_;
  Random random_;
  KeyHistory keys_;
  ChunkPool pool_;
  Model model_;
  std::vector<std::shared_ptr<const std::string>> borrowed_;
  AppendOnlyMemtable table_;
  std::list<PairOfIterators> iterators_;
  bool frozen_ = false;
};

class ModelTest : public testing::TestWithParam<ModelConfig> {};

TEST_P(ModelTest, TableAgreesWithMap) {
  ForSeeds(Scaled(12, 3), [](uint64_t seed) { ModelRun(GetParam(), seed).Run(); });
}

INSTANTIATE_TEST_SUITE_P(Histories, ModelTest,
                         testing::Values(ModelConfig{History::kAscending, false, true, false, 0, 1500},
                                         ModelConfig{History::kAscending, true, false, false, 0, 1500},
                                         ModelConfig{History::kAscendingThenRandom, false, true, false, 30, 1500},
                                         ModelConfig{History::kAscendingThenRandom, true, true, false, 64, 1500},
                                         ModelConfig{History::kAscendingThenRandom, false, false, true, 65, 1500},
                                         ModelConfig{History::kAscendingThenRandom, true, true, false, 400, 2000},
                                         ModelConfig{History::kRandom, false, true, false, 0, 2000},
                                         ModelConfig{History::kRandom, true, false, false, 0, 2000},
                                         ModelConfig{History::kRandom, false, true, true, 0, 1000}));

}  // namespace
}  // namespace strongbin
