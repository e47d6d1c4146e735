#include "strongbin/tools/dbbench/gate/journal.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unistd.h>

namespace strongbin::dbbench {

bool Journal::Open(const nlohmann::json& header) {
  std::error_code ignored;
  if (!std::filesystem::exists(path_, ignored)) return Append(header);
  std::ifstream file(path_);
  bool first = true;
  uintmax_t whole_bytes = 0;
  for (std::string line; std::getline(file, line) && !file.eof();) {
    const nlohmann::json parsed = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (parsed.is_discarded()) {
      error_ = path_ + " is no file of raw results; choose another name";
      return false;
    }
    if (first && parsed != header) {
      error_ = path_ + " holds another comparison (" + parsed.value("baseline", "?") + " against " +
               parsed.value("candidate", "?") + ", or other flags or another build); choose another name or delete it";
      return false;
    }
    if (!first) pairs_.push_back(parsed);
    first = false;
    whole_bytes += line.size() + 1;
  }
  file.close();
  std::error_code error;
  std::filesystem::resize_file(path_, whole_bytes, error);
  if (error) {
    error_ = path_ + ": " + error.message();
    return false;
  }
  return !first || Append(header);
}

bool Journal::Add(const nlohmann::json& pair) {
  if (!Append(pair)) return false;
  pairs_.push_back(pair);
  return true;
}

bool Journal::Append(const nlohmann::json& line) {
  const std::string text = line.dump() + "\n";
  const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const bool written =
      file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(file) == 0;
  if (!written) error_ = path_ + ": " + std::strerror(errno);
  if (file >= 0) close(file);
  return written;
}

}  // namespace strongbin::dbbench
