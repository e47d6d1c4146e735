#include "strongbin/tools/dbbench/engine.h"

#include <utility>

namespace strongbin::dbbench {
namespace {

constexpr std::string_view kRocksDbPrefix = "rocksdb:";

// Takes everything and remembers nothing: what is left is the cost of the harness.
class EmptyEngine final : public Engine {
 public:
  bool Open(const RoundPlan&) override { return true; }
  bool Write(size_t, const Batch&) override { return true; }
  bool Get(size_t, std::string_view, std::string_view*) override { return false; }
  bool OpenScan(size_t, std::string_view, std::string_view) override { return true; }
  uint64_t AdvanceScan(size_t, uint64_t, ContentSum*) override { return 0; }
  void CloseScan(size_t) override {}
  bool FinishWrites() override { return true; }
  bool Close() override { return true; }
  void Checkpoint() override {}
  EngineNumbers Numbers() override { return {}; }
  std::string Description() const override { return "does nothing; its rows are the cost of the harness"; }
};

}  // namespace

bool Engine::Fail(std::string reason) {
  std::lock_guard lock(error_mutex_);
  if (error_.empty()) error_ = std::move(reason);
  failed_.store(true, std::memory_order_release);
  return false;
}

std::string EngineNames() {
  return "memtable, kv, rocksdb:strongbin, rocksdb:skip_list, rocksdb:vector, rocksdb:prefix_hash, rocksdb:NAME of a "
         "factory that RocksDB knows, none";
}

std::string CheckEngineName(std::string_view name) {
  if (name == "memtable" || name == "kv" || name == "none") return {};
  if (name.starts_with(kRocksDbPrefix)) return CheckRocksDbFactory(name.substr(kRocksDbPrefix.size()));
  return "allowed: " + EngineNames();
}

bool HasWriteAheadLog(std::string_view name) { return name == "kv" || name.starts_with(kRocksDbPrefix); }

std::unique_ptr<Engine> MakeEngine(std::string_view name, const Config& config, const std::string& directory) {
  if (name == "memtable") return MakeMemtableEngine(config);
  if (name == "kv") return MakeKvEngine(config, directory);
  if (name.starts_with(kRocksDbPrefix)) return MakeRocksDbEngine(name.substr(kRocksDbPrefix.size()), config, directory);
  return std::make_unique<EmptyEngine>();
}

}  // namespace strongbin::dbbench
