// Random histories of a table against a std::map of (key, sequence).
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/table_model.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

enum class History : uint8_t { kAscending, kAscendingThenRandom, kRandom };

struct ModelConfig {
  History history;
  bool checksums;
  bool concurrent_writers;
  bool huge;
  size_t ascending_count;  // of kAscendingThenRandom; a base above 64 entries stays a base, a smaller one is indexed
  size_t operation_count;
};

// One table, one model, and operations on both.
class ModelRun {
 public:
  ModelRun(const ModelConfig& config, uint64_t seed)
      : config_(config),
        random_(seed),
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

  bool Ascends() const {
    return config_.history == History::kAscending ||
           (config_.history == History::kAscendingThenRandom && appended_ < config_.ascending_count);
  }

  ModelKey NewModelKey() {
    ++appended_;
    if (Ascends()) {
      // The next version of the last key, or a key behind it.
      if (last_.sequence > 0 && OneIn(&random_, 4)) {
        last_.sequence -= 1 + Below(&random_, std::min<uint64_t>(last_.sequence, 3));
        return last_;
      }
      last_.key =
          OneIn(&random_, 3) ? last_.key + RandomKey(&random_, false) + '\0' : NumberKey(++ascending_number_, 12);
      last_.sequence = Below(&random_, 50);
      return last_;
    }
    ModelKey key{.key = RandomKey(&random_, config_.huge), .sequence = ++next_sequence_};
    if (!model_.empty() && OneIn(&random_, 3)) key.key = SomeKey();
    if (OneIn(&random_, 4))
      key.sequence = Below(&random_, next_sequence_ + 1);  // out of order, and now and then a duplicate
    if (OneIn(&random_, 500)) key.sequence = kMaxSequence - Below(&random_, 2);
    return key;
  }
  ModelValue NewModelValue() {
    const auto kind = static_cast<EntryKind>(Below(&random_, 4));
    std::string bytes = kind == EntryKind::kDelete ? "" : RandomValue(&random_, config_.huge);
    if (kind == EntryKind::kValuePointer) bytes = "sixteen-byte-ptr";
    return {kind, std::make_shared<const std::string>(std::move(bytes))};
  }
  std::string SomeKey() {
    auto it = model_.lower_bound({RandomKey(&random_, false), kMaxSequence});
    return it == model_.end() ? model_.begin()->first.key : it->first.key;
  }
  // A key that is there, or beside one that is there, or any.
  std::string ProbeKey() {
    if (model_.empty() || OneIn(&random_, 3)) return RandomKey(&random_, config_.huge);
    std::string key = SomeKey();
    if (OneIn(&random_, 4)) key += '\0';
    if (OneIn(&random_, 6) && !key.empty()) key.pop_back();
    return key;
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
    const ModelKey key = NewModelKey();
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
      key = NewModelKey();
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

  Sequence RandomSnapshot() {
    return OneIn(&random_, 2) ? kMaxSequence : Below(&random_, std::max<uint64_t>(next_sequence_, 60) + 1);
  }

  void Lookup() {
    const std::string key = ProbeKey();
    const Sequence snapshot = RandomSnapshot();
    ASSERT_TRUE(SameLookup(table_.Get(key, snapshot), ModelGet(model_, key, snapshot)))
        << Printable(key) << " at " << snapshot;
  }

  void UseIterator() {
    if (iterators_.size() < 4 && OneIn(&random_, 4)) {
      ModelReadOptions options{.snapshot = RandomSnapshot(), .all_versions = OneIn(&random_, 2)};
      if (OneIn(&random_, 3)) options.lower_bound = ProbeKey();
      if (OneIn(&random_, 3)) options.upper_bound = ProbeKey();
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
    const std::string key = ProbeKey();
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
    last_ = {};
    ascending_number_ = 0;
    appended_ = 0;
    next_sequence_ = 0;
  }

  const ModelConfig config_;
  Random random_;
  ChunkPool pool_;
  Model model_;
  std::vector<std::shared_ptr<const std::string>> borrowed_;
  AppendOnlyMemtable table_;
  std::list<PairOfIterators> iterators_;
  bool frozen_ = false;
  ModelKey last_;
  uint64_t ascending_number_ = 0;
  size_t appended_ = 0;
  Sequence next_sequence_ = 0;
};

class ModelTest : public testing::TestWithParam<ModelConfig> {};

TEST_P(ModelTest, TableAgreesWithMap) {
  const char* chosen_seed = std::getenv("STRONGBIN_TEST_SEED");
  const uint64_t first_seed = chosen_seed != nullptr ? std::strtoull(chosen_seed, nullptr, 10) : 1;
  const uint64_t seed_count = WideTests() ? 200 : Scaled(12, 3);
  for (uint64_t seed = first_seed; seed < first_seed + seed_count; ++seed) {
    SCOPED_TRACE("STRONGBIN_TEST_SEED=" + std::to_string(seed));
    ModelRun(GetParam(), seed).Run();
    if (HasFatalFailure()) return;
  }
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
