// All tests on all engines, in order.
#pragma once

#include <string>

#include "strongbin/tools/dbbench/config.h"
#include "strongbin/tools/dbbench/report.h"

namespace strongbin::dbbench {

// Files for RocksDB below --db, or below the temporary directory: made on construction, deleted at the end.
class WorkDirectory {
 public:
  explicit WorkDirectory(const Config& config);
  ~WorkDirectory();
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;

  const std::string& path() const { return path_; }
  const std::string& error() const { return error_; }

 private:
  std::string path_;
  std::string error_;
};

// Runs config.tests on config.dbs and returns what was measured, also after Ctrl-C.
Report RunSession(const Config& config, const std::string& directory);

}  // namespace strongbin::dbbench
