#include "strongbin/tools/dbbench/child_process.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "strongbin/tools/dbbench/measure.h"

namespace strongbin::dbbench {
namespace {

std::string EndOf(const std::string& path) {
  constexpr size_t kMost = 2000;
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.size() > kMost ? text.substr(text.size() - kMost) : text;
}

// In the child: only what is safe between fork and exec.
[[noreturn]] void Become(char* const* arguments, const char* output_path, const char* errors_path) {
  const int output = open(output_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int errors = open(errors_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (output >= 0 && errors >= 0 && dup2(output, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0) {
    execv(arguments[0], arguments);
  }
  _exit(127);
}

}  // namespace

ChildResult RunChild(const std::vector<std::string>& arguments, const std::string& preload,
                     const std::string& output_path) {
  ChildResult result;
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers;
  for (std::string& argument : copies) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const std::string errors_path = output_path + ".errors";

  const char* before = std::getenv("LD_PRELOAD");
  const std::string kept = before == nullptr ? "" : before;
  if (!preload.empty()) setenv("LD_PRELOAD", (preload + (kept.empty() ? "" : ":" + kept)).c_str(), 1);
  const uint64_t start_ns = NowNs();
  const pid_t child = fork();
  if (child == 0) Become(pointers.data(), output_path.c_str(), errors_path.c_str());
  if (!preload.empty()) {
    if (kept.empty()) {
      unsetenv("LD_PRELOAD");
    } else {
      setenv("LD_PRELOAD", kept.c_str(), 1);
    }
  }
  if (child < 0) {
    result.errors = std::strerror(errno);
    return result;
  }
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  result.started = true;
  result.wall_seconds = static_cast<double>(NowNs() - start_ns) / 1e9;
  result.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.errors = EndOf(errors_path);
  std::error_code ignored;
  std::filesystem::remove(errors_path, ignored);
  return result;
}

std::string ThisProgram() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::string OutputOf(const std::string& command) {
  std::string text;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> buffer;
  while (const size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), got);
  pclose(pipe);
  return text;
}

}  // namespace strongbin::dbbench
