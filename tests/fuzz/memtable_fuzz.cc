// Any operations of a memtable, with memory refused now and then, against a std::map.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/stats/identities.h"
#include "strongbin/tests/fuzz/fuzz_input.h"
#include "strongbin/tests/fuzz/table_input.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/table_model.h"

namespace strongbin {
namespace {

class MemtableRun {
 public:
  MemtableRun(const uint8_t* data, size_t size) : input_(data, size), table_input_(&input_) {
    const uint8_t style = input_.Byte();
    ChunkPoolOptions pool_options = UnpooledFrom(&source_);
    if ((style & 1) != 0) pool_options.cap_bytes = 64 << 10;
    pool_.emplace(pool_options);
    if ((style & 2) != 0) budget_bytes_ = size_t{style} << 10;
    table_.emplace(MemtableOptions{.pool = &*pool_,
                                   .hard_budget_bytes = budget_bytes_,
                                   .concurrent_writers = (style & 4) != 0,
                                   .checksum_entries = (style & 8) != 0});
  }

  void Run() {
    while (!input_.AtEnd()) {
      Step();
      FUZZ_REQUIRE(table_->entry_count() == model_.size(), "entries");
    }
    Compare();
    pin_.Reset();
    table_.reset();
    FUZZ_REQUIRE(LentBytes(*pool_) == 0, "a table left chunks behind");
    const std::string broken = BrokenIdentities(pool_->Stats());
    FUZZ_REQUIRE(broken.empty(), broken);
  }

 private:
  void Step() {
    switch (const size_t choice = input_.Below(24); choice) {
      case 0:
        return Compare();
      case 1:
        return Reset();
      case 2:
        table_->Freeze();
        frozen_ = true;
        return;
      case 3:
        source_.RefuseAfter(input_.Byte() % 16);
        refusing_ = true;
        return;
      case 4:
        source_.GrantAll();
        refusing_ = false;
        return;
      case 5:
        pool_->OnMemoryPressure();
        return;
      case 6:
        return HoldOrLetGo();
      case 7:
        return ReserveSome();
      case 8:
        table_->Trim({input_.Byte(), input_.Byte(), input_.Byte()});
        return;
      case 9:
      case 10:
      case 11:
        return Lookup();
      case 12:
      case 13:
        return AppendMany();
      case 14:
        return AppendFilled();
      default:
        return AppendOne();
    }
  }

  // What an operation that is right but for the state of the table answers.
  void RequireAnswer(Status status, bool valid, bool duplicate) {
    using Code = Status::Code;
    const bool refused =
        (refusing_ && status == Code::kOutOfMemory) || (budget_bytes_ > 0 && status == Code::kOverBudget);
    if (!valid) {
      FUZZ_REQUIRE(status == Code::kInvalidArgument, status.message());
    } else if (frozen_) {
      FUZZ_REQUIRE(status == Code::kFrozen || refused, status.message());
    } else {
      FUZZ_REQUIRE(refused || status == (duplicate ? Code::kDuplicate : Code::kOk), status.message());
    }
  }

  void AppendOne() {
    const auto [key, value] = table_input_.Entry();
    const Status status = table_->Append(table_input_.AsWrite(key, value, &borrowed_));
    RequireAnswer(status, key.sequence <= kMaxSequence, model_.contains(key));
    if (status.ok()) model_.emplace(key, value);
  }

  void AppendFilled() {
    const auto [key, value] = table_input_.Entry();
    const bool gives_up = input_.Below(8) == 0;
    bool asked = false;
    const Status status = table_->AppendFilled(table_input_.AsWrite(key, value, &borrowed_), value.bytes->size(),
                                               [&, &bytes = *value.bytes](std::span<char> room) {
                                                 asked = true;
                                                 if (!gives_up) std::copy(bytes.begin(), bytes.end(), room.begin());
                                                 return !gives_up;
                                               });
    if (asked && gives_up) {
      FUZZ_REQUIRE(status == Status::Code::kAborted, status.message());
    } else {
      RequireAnswer(status, key.sequence <= kMaxSequence, model_.contains(key));
    }
    if (status.ok()) model_.emplace(key, value);
  }

  void AppendMany() {
    std::vector<std::pair<ModelKey, ModelValue>> entries(input_.Below(40));
    for (auto& entry : entries) entry = table_input_.Entry();
    const bool sorted = input_.Coin();
    if (sorted) {
      const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
      std::sort(entries.begin(), entries.end(), less);
    }
    bool valid = true, duplicate = false;
    std::vector<Write> writes;
    std::vector<Model::iterator> added;
    for (const auto& [key, value] : entries) {
      valid &= key.sequence <= kMaxSequence;
      writes.push_back(table_input_.AsWrite(key, value, &borrowed_));
      const auto [it, is_new] = model_.emplace(key, value);
      is_new ? added.push_back(it) : void(duplicate = true);
    }
    const Status status = sorted ? table_->AppendSortedBatch(writes) : table_->AppendBatch(writes);
    RequireAnswer(status, valid, duplicate);
    if (status.ok()) return;
    for (const auto& it : added) model_.erase(it);
  }

  void Lookup() {
    const std::string key = table_input_.Key();
    const Sequence snapshot = table_input_.Snapshot();
    FUZZ_REQUIRE_SAME(SameLookup(table_->Get(key, snapshot), ModelGet(model_, key, snapshot)));
  }

  void ReserveSome() {
    const Status status = table_->Reserve({input_.Byte(), size_t{64} * input_.Byte(), size_t{64} * input_.Byte()});
    RequireAnswer(status, true, false);
  }

  void HoldOrLetGo() {
    if (pin_) {
      pin_.Reset();
    } else {
      pin_ = table_->Pin();
    }
  }

  void Reset() {
    const size_t kind = input_.Below(3);
    const Status status = kind == 0 ? table_->ResetWarm() : kind == 1 ? table_->ResetCold() : table_->ResetHard();
    FUZZ_REQUIRE(status == (pin_ ? Status::Code::kBusy : Status::Code::kOk), status.message());
    if (!status.ok()) return;
    FUZZ_REQUIRE(table_->MemoryUsage() == 0 && LentBytes(*pool_) == 0, "an empty table holds something");
    model_.clear();
    borrowed_.clear();
    frozen_ = false;
  }

  void Compare() {
    source_.GrantAll();
    refusing_ = false;
    FUZZ_REQUIRE_SAME(SameContent(*table_, model_));
    FUZZ_REQUIRE(table_->MemoryUsage() == LentBytes(*pool_), "memory usage is not what the pool has lent");
    const std::string broken = BrokenIdentities(table_->Stats());
    FUZZ_REQUIRE(broken.empty(), broken);
  }

  FuzzInput input_;
  TableInput table_input_;
  RefusingSource source_;
  std::optional<ChunkPool> pool_;
  size_t budget_bytes_ = 0;
  std::optional<AppendOnlyMemtable> table_;
  ReadPin pin_;
  Model model_;
  std::vector<std::shared_ptr<const std::string>> borrowed_;
  bool frozen_ = false;
  bool refusing_ = false;
};

}  // namespace
}  // namespace strongbin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  strongbin::MemtableRun(data, size).Run();
  return 0;
}
