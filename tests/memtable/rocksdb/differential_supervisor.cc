#include "strongbin/tests/memtable/rocksdb/differential_supervisor.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strongbin/tests/memtable/rocksdb/test_db.h"

namespace strongbin::differential {

namespace {

constexpr std::string_view kRoundProcess = "--round-process";
constexpr const char* kRoundFile = "/round.txt";
constexpr const char* kProgressFile = "/progress";
constexpr const char* kOutputFile = "/output.txt";
constexpr int kDifferentStatus = 10;

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::abort();
}

// The progress of a round, shared by the supervisor and the processes that follow each other.
class MappedProgress {
 public:
  explicit MappedProgress(const std::string& path) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(Progress)) != 0) Die(path.c_str());
    memory_ = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory_ == MAP_FAILED) Die(path.c_str());
    close(file);
  }
  ~MappedProgress() { munmap(memory_, sizeof(Progress)); }
  MappedProgress(const MappedProgress&) = delete;
  MappedProgress& operator=(const MappedProgress&) = delete;

  // A new file is all zeros, which is how a Progress begins.
  Progress* get() const { return static_cast<Progress*>(memory_); }

 private:
  void* memory_ = nullptr;
};

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The status that waitpid gives for the process.
int RunProcess(const std::string& directory, const FactoryNames& factories) {
  std::array<std::string, 5> words = {"/proc/self/exe", std::string(kRoundProcess), directory, factories.expected,
                                      factories.actual};
  std::array<char*, words.size() + 1> arguments{};
  for (size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  const std::string output = directory + kOutputFile;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t process = 0;
  errno = posix_spawn(&process, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  if (errno != 0) Die("posix_spawn");
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) Die("waitpid");
  }
  return status;
}

}  // namespace

Verdict RunRound(const Round& round, const FactoryNames& factories) {
  const TempDir directory;
  std::ofstream(directory.path() + kRoundFile) << Format(round);
  const MappedProgress progress(directory.path() + kProgressFile);
  Verdict verdict;
  for (;;) {
    const int status = RunProcess(directory.path(), factories);
    verdict.done_count = progress.get()->done_count;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && progress.get()->kill_is_coming != 0) {
      ++verdict.kill_count;
      continue;
    }
    const std::string output = ReadFile(directory.path() + kOutputFile);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS && progress.get()->is_finished != 0) return verdict;
    if (WIFEXITED(status) && WEXITSTATUS(status) == kDifferentStatus) {
      verdict.difference = output;
      return verdict;
    }
    verdict.difference = "the process of the round ended after " + std::to_string(verdict.done_count) +
                         " operations by " + (WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "an exit") + ":\n" +
                         output;
    return verdict;
  }
}

bool IsRoundProcess(int argc, char** argv) { return argc == 5 && argv[1] == kRoundProcess; }

int RunRoundProcess(char** argv) {
  const std::string directory = argv[2];
  Round round;
  std::string error;
  if (!Parse(ReadFile(directory + kRoundFile), &round, &error)) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return EXIT_FAILURE;
  }
  const MappedProgress progress(directory + kProgressFile);
  const std::string difference = Pair(round, {.expected = argv[3], .actual = argv[4]}, directory, progress.get()).Run();
  std::fprintf(stderr, "%s", difference.c_str());
  return difference.empty() ? EXIT_SUCCESS : kDifferentStatus;
}

}  // namespace strongbin::differential
