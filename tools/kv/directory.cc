#include "strongbin/tools/kv/directory.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace strongbin::kv {
namespace {

constexpr std::string_view kLogPrefix = "log-";
constexpr size_t kNumberDigits = 12;

}  // namespace

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

rocksdb::Status SystemError(const std::string& what, const std::string& path) {
  return rocksdb::Status::IOError(what + " " + path, std::strerror(errno));
}

std::string LogPath(const std::string& directory, uint64_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, kNumberDigits - std::min(kNumberDigits, digits.size()), '0');
  return directory + "/" + std::string(kLogPrefix) + digits;
}

rocksdb::Status ListLogs(const std::string& directory, std::vector<uint64_t>* numbers) {
  numbers->clear();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kLogPrefix)) continue;
    uint64_t number = 0;
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + kLogPrefix.size(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end) continue;
    numbers->push_back(number);
  }
  if (error) return rocksdb::Status::IOError("cannot list " + directory, error.message());
  std::sort(numbers->begin(), numbers->end());
  return rocksdb::Status::OK();
}

rocksdb::Status DeleteLogs(const std::string& directory, const std::vector<uint64_t>& numbers) {
  for (const uint64_t number : numbers) {
    const std::string path = LogPath(directory, number);
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return SystemError("cannot delete", path);
    if (rocksdb::Status synced = SyncDirectory(directory); !synced.ok()) return synced;
  }
  return rocksdb::Status::OK();
}

rocksdb::Status SyncDirectory(const std::string& directory) {
  const File file(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.get() < 0 || fsync(file.get()) != 0) return SystemError("cannot sync", directory);
  return rocksdb::Status::OK();
}

}  // namespace strongbin::kv
