// The tests of one engine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "strongbin/tools/dbbench/config.h"
#include "strongbin/tools/dbbench/engine.h"
#include "strongbin/tools/dbbench/report.h"
#include "strongbin/tools/dbbench/runner.h"

namespace strongbin::dbbench {

// All tests on one engine, one after the other. Used once, by one thread.
class EngineSession {
 public:
  // Adds rows, notes and the engine's description to `report`, which must live as long.
  EngineSession(const Config& config, const std::string& name, const std::string& directory, Report* report);

  void RunAll();

 private:
  struct Timing {
    std::string round;
    bool single = false;  // each operation timed by itself, fewer of them
  };

  void RunWriteTest(TestKind test);
  void RunReadTest(TestKind test);
  void RunWriteRound(const DataSet& data, const Timing& timing);
  bool Load(const DataSet& data, const std::string& title, uint64_t deadline_ns, Row* row);
  std::unique_ptr<RunResult> RunTimed(const DataSet& data, const Timing& timing, uint64_t deadline_ns, Row* row);
  WorkShape Shape(bool single) const;
  bool WantsSingle() const { return config_.histogram && config_.latency_ops > 0 && config_.rate_per_second == 0; }
  bool KeepsContent() const { return name_ != "none"; }
  uint64_t Deadline() const;
  Row NewRow(const Timing& timing) const;
  std::string Title(const Row& row) const { return row.engine + " " + row.test + " " + row.round + ", " + row.timing; }
  void FillRow(const RunResult& result, const EngineNumbers& numbers, Row* row) const;
  void Explain(Row* row) const;
  void AddRow(Row row) { report_.rows.push_back(std::move(row)); }

  const Config& config_;
  const std::string name_;
  Report& report_;
  const std::unique_ptr<Engine> engine_;
  TestKind test_ = TestKind::kWriteRandom;
  bool cold_ = true;  // no memory of an earlier round is kept for reuse
};

}  // namespace strongbin::dbbench
