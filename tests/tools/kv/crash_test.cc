// Rounds of kill -9 through the store `kv`.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "strongbin/tests/crash_rounds.h"
#include "strongbin/tests/tools/kv/store_fixture.h"

namespace strongbin::kv {
namespace {

using crash::Change;

class CrashTest : public StoreTest {
 protected:
  // In a child. The tables of each round have another size, and every eighth one syncs its log.
  void Open(uint64_t number) {
    options_.table_bytes = crash::kMemtableBytes[number % crash::kMemtableBytes.size()];
    options_.log = number % 8 == 7 ? LogMode::kSynced : LogMode::kUnsynced;
    const rocksdb::Status status = Reopen();
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
    REQUIRE_IN_CHILD(status.ok());
  }

  // The store has no families: they are part of the key.
  static constexpr char kSeparator = '|';
  void Write(const std::vector<Change>& changes) const {
    Batch batch;
    for (const Change& change : changes) {
      const std::string key = std::to_string(change.family) + kSeparator + change.key;
      change.kind == Change::Kind::kDelete ? batch.Delete(key) : batch.Put(key, change.value);
    }
    REQUIRE_IN_CHILD(store_->Write(batch).ok());
  }
  std::array<crash::Content, crash::kThreads> Read() const {
    std::array<crash::Content, crash::kThreads> found;
    for (const auto& [key, value] : Scan()) {
      REQUIRE_IN_CHILD(key.size() > 2 && key[1] == kSeparator && key[0] >= '0' && key[0] - '0' < int{crash::kFamilies});
      REQUIRE_IN_CHILD(Get(key) == value);
      const std::string own_key = key.substr(2);
      found[crash::ThreadOfKey(own_key)][static_cast<size_t>(key[0] - '0')][own_key] = value;
    }
    REQUIRE_IN_CHILD(!HasFailure());
    return found;
  }
};

TEST_F(CrashTest, AcknowledgedWritesAreThereAndNothingElse) {
  crash::RunRounds(
      TestScale(Scaled(15, 4), 200), /*merges=*/false,
      [&](const crash::Load& load, uint64_t number, crash::Ledger* ledger) {
        Open(number);
        crash::WriteForEver(load, ledger, [&](const std::vector<Change>& changes) { Write(changes); });
      },
      [&](const crash::Load& load, uint64_t number, crash::Ledger* ledger) {
        Open(number + 1);
        crash::Verify(load, Read(), ledger);
        store_.reset();
      });
}

}  // namespace
}  // namespace strongbin::kv
