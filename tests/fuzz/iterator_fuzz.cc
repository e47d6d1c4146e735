// Strings of iterator operations, with writes between them, beside an iterator over a std::map.
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/fuzz/fuzz_input.h"
#include "strongbin/tests/fuzz/table_input.h"
#include "strongbin/tests/memtable/table_model.h"

namespace strongbin {
namespace {

class IteratorRun {
 public:
  IteratorRun(const uint8_t* data, size_t size) : input_(data, size), table_input_(&input_) {}

  void Run() {
    const size_t ascending = input_.Byte();
    for (size_t i = 0; i < ascending; ++i) Append("a" + std::string(1, static_cast<char>(i)), 1);
    while (!input_.AtEnd()) Step();
  }

 private:
  struct Pair {
    ModelReadOptions options;
    MemtableIterator real;
    ModelIterator model;
  };

  void Step() {
    const size_t choice = input_.Below(16);
    if (choice == 0) return Open();
    if (choice == 1 && !pairs_.empty()) return pairs_.pop_front();
    if (choice < 5 || pairs_.empty()) {
      const auto [key, value] = table_input_.Entry();
      return Append(key.key, key.sequence);
    }
    // Many writes at once make a run instead of going into the delta.
    if (choice == 5 && input_.Below(16) == 0) {
      for (int i = 0; i < 300; ++i) Append(table_input_.Key() + std::to_string(model_.size()), 7);
      return;
    }
    Pair& pair = *pairs_.begin();
    Move(&pair, choice);
    FUZZ_REQUIRE_SAME(SamePlace(pair.real, pair.model));
    pairs_.splice(pairs_.end(), pairs_, pairs_.begin());
  }

  void Append(const std::string& key, Sequence sequence) {
    const ModelValue value{EntryKind::kPut, std::make_shared<const std::string>(std::to_string(model_.size()))};
    if (table_.Put(key, sequence, *value.bytes).ok()) {
      FUZZ_REQUIRE((model_.emplace(ModelKey{key, sequence}, value).second), "a duplicate was taken");
    } else {
      FUZZ_REQUIRE((sequence > kMaxSequence || model_.contains({key, sequence})), "a new entry was refused");
    }
  }

  void Open() {
    if (pairs_.size() >= 4) return;
    ModelReadOptions options{.snapshot = table_input_.Snapshot(), .all_versions = input_.Coin()};
    if (input_.Below(3) == 0) options.lower_bound = table_input_.Key();
    if (input_.Below(3) == 0) options.upper_bound = table_input_.Key();
    // The bounds must stay where the iterator saw them: nodes of a list do not move.
    Pair& pair = pairs_.emplace_front(Pair{options, table_.NewIterator(), ModelIterator(options)});
    pair.real = table_.NewIterator(pair.options.AsReadOptions());
  }

  void Move(Pair* pair, size_t choice) {
    if (choice < 9 && pair->model.Valid()) return pair->real.Next(), pair->model.Next();
    if (choice < 12 && pair->model.Valid()) return pair->real.Prev(), pair->model.Prev();
    const std::string key = choice % 4 < 2 ? "" : table_input_.Key();
    switch (choice % 4) {
      case 0:
        return pair->real.SeekToFirst(), pair->model.SeekToFirst(model_);
      case 1:
        return pair->real.SeekToLast(), pair->model.SeekToLast(model_);
      case 2:
        return pair->real.Seek(key), pair->model.Seek(model_, key);
      default:
        return pair->real.SeekForPrev(key), pair->model.SeekForPrev(model_, key);
    }
  }

  FuzzInput input_;
  TableInput table_input_;
  ChunkPool pool_;
  Model model_;
  AppendOnlyMemtable table_{{.pool = &pool_}};
  std::list<Pair> pairs_;
};

}  // namespace
}  // namespace strongbin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  strongbin::IteratorRun(data, size).Run();
  return 0;
}
