// Files for readers that want a path, without a disk.
#pragma once

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <unistd.h>

#include "strongbin/tests/fuzz/fuzz_input.h"

namespace strongbin {

// A folder of this process in shared memory, which goes with the object.
class FolderInMemory {
 public:
  FolderInMemory() { FUZZ_REQUIRE(mkdtemp(path_.data()) != nullptr, path_); }
  ~FolderInMemory() { std::filesystem::remove_all(path_); }
  FolderInMemory(const FolderInMemory&) = delete;
  FolderInMemory& operator=(const FolderInMemory&) = delete;

  const std::string& path() const { return path_; }
  // Each of these takes the path of a file.
  static void Write(const std::string& path, std::string_view bytes) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_REQUIRE(fd >= 0, path);
    FUZZ_REQUIRE(write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "write");
    close(fd);
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    FUZZ_REQUIRE(file.good(), path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_ = "/dev/shm/strongbin-fuzz-XXXXXX";
};

}  // namespace strongbin
