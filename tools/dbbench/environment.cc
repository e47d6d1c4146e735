#include "strongbin/tools/dbbench/environment.h"

#include <cstring>
#include <dbbench_commit.h>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <gnu/libc-version.h>
#include <link.h>
#include <sstream>
#include <string>
#include <sys/utsname.h>
#include <system_error>
#include <unistd.h>

#include <rocksdb/version.h>

#include "strongbin/tools/dbbench/child_process.h"
#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/profile.h"

namespace strongbin::dbbench {
namespace {

#if defined(NDEBUG)
constexpr bool kAssertionsOn = false;
#else
constexpr bool kAssertionsOn = true;
#endif
#if defined(__OPTIMIZE__)
constexpr bool kOptimised = true;
#else
constexpr bool kOptimised = false;
#endif

// What is known of librocksdb from its names in memory: a build with assertions imports the function that reports them.
struct LibraryFacts {
  std::string path;
  bool imports_assertions = false;
};

int LookAtLibrary(dl_phdr_info* info, size_t, void* result) {
  if (std::strstr(info->dlpi_name, "librocksdb") == nullptr) return 0;
  auto& facts = *static_cast<LibraryFacts*>(result);
  facts.path = info->dlpi_name;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const char* names = nullptr;
    size_t names_bytes = 0;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      // The loader has turned the table's address into one of this process.
      if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_STRSZ) names_bytes = entry->d_un.d_val;
    }
    constexpr char kName[] = "\0__assert_fail";  // compared with both its zero bytes
    facts.imports_assertions = names != nullptr && memmem(names, names_bytes, kName, sizeof(kName)) != nullptr;
  }
  return 1;
}

// The file of our memtable for RocksDB: that which was linked, or another that is preloaded.
std::string MemtableLibrary() {
  std::string path = "not loaded";
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        if (std::strstr(info->dlpi_name, "libstrongbin_rocksdb") == nullptr) return 0;
        *static_cast<std::string*>(result) = info->dlpi_name;
        return 1;
      },
      &path);
  return path;
}

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line.empty() ? "unknown" : line;
}

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

// The mount whose directory is the longest prefix of `directory`.
std::string FileSystemOf(const std::string& directory) {
  std::error_code error;
  const std::string path = std::filesystem::weakly_canonical(directory, error).string() + "/";
  std::ifstream file("/proc/self/mountinfo");
  std::string best = "unknown";
  size_t best_length = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string skipped;
    std::string mount;
    words >> skipped >> skipped >> skipped >> skipped >> mount;
    const std::string prefix = mount == "/" ? mount : mount + "/";
    const size_t dash = line.find(" - ");
    if (!path.starts_with(prefix) || prefix.size() < best_length || dash == std::string::npos) continue;
    best_length = prefix.size();
    best = line.substr(dash + 3, line.find(' ', dash + 3) - dash - 3) + " mounted at " + mount;
  }
  return best;
}

const char* OnOff(bool on) { return on ? "on" : "off"; }

}  // namespace

Facts DescribeEnvironment(const std::string& directory) {
  LibraryFacts library;
  dl_iterate_phdr(&LookAtLibrary, &library);
  utsname kernel = {};
  uname(&kernel);
  const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
  return {
      {"commit", DBBENCH_COMMIT},
      {"build", std::string(DBBENCH_BUILD_TYPE) + ", " + DBBENCH_COMPILER + ", flags " + DBBENCH_FLAGS},
      {"assertions, ours", OnOff(kAssertionsOn)},
      {"assertions, RocksDB",
       library.path.empty() ? "unknown: librocksdb is linked statically"
                            : std::string(OnOff(library.imports_assertions)) + " (" + library.path +
                                  (library.imports_assertions ? " imports" : " does not import") + " __assert_fail)"},
      {"our memtable for RocksDB", MemtableLibrary()},
      {"RocksDB", rocksdb::GetRocksVersionAsString(true)},
      {"processor", ProcessorName() + ", " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " online"},
      {"memory", Bytes(pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)))},
      {"kernel", std::string(kernel.sysname) + " " + kernel.release + " " + kernel.machine},
      {"transparent huge pages", FirstLine("/sys/kernel/mm/transparent_hugepage/enabled")},
      {"allocator", AllocatorIsTcmalloc() ? "tcmalloc, preloaded" : std::string("glibc ") + gnu_get_libc_version()},
      {"load before the run", FirstLine("/proc/loadavg")},
      {"file system of RocksDB's files", FileSystemOf(directory) + ", directory " + directory},
  };
}

Facts DescribeSettings(const Config& config) {
  Facts facts = {
      {"command", config.command_line},
      {"program", ThisProgram()},
      {"keys",
       Grouped(config.keys) + " distinct, in all threads together, of " + std::to_string(config.key_bytes) + " bytes"},
      {"values", std::to_string(config.value_bytes) + " bytes"},
      {"batch", Grouped(uint64_t{config.batch_entries}) + " entries"},
      {"threads", std::to_string(config.threads)},
      {"seed", std::to_string(config.seed)},
      {"profile", std::string(kProfileNames[Index(config.profile)])},
      {"memtable", Bytes(config.memtable_bytes)},
      {"arrivals", config.rate_per_second > 0
                       ? "open loop, " + Significant(config.rate_per_second) + " operations per second"
                       : "closed loop: each thread starts its next batch when the last one returned"},
      {"checkpoint between tests", config.checkpoint_between_tests ? "yes" : "no"},
  };
  if (!config.label.empty()) facts.insert(facts.begin(), {"label", config.label});
  return facts;
}

Facts PlainParameters(const Config& config) {
  return {
      {"keys", std::to_string(config.keys)},
      {"threads", std::to_string(config.threads)},
      {"key_bytes", std::to_string(config.key_bytes)},
      {"value_bytes", std::to_string(config.value_bytes)},
      {"batch_entries", std::to_string(config.batch_entries)},
      {"profile", std::string(kProfileNames[Index(config.profile)])},
      {"pool_cap_bytes", std::to_string(config.pool_cap_bytes)},
      {"huge_pages", std::string(kSwitchNames[config.huge_pages ? 1 : 0])},
      {"label", config.label},
  };
}

std::vector<std::string> BuildWarnings() {
  std::vector<std::string> warnings;
  if (!kOptimised) warnings.push_back("WARNING: this build is not optimised; its numbers say nothing.");
  if (kAssertionsOn)
    warnings.push_back("WARNING: assertions are on in this build; quote numbers of the release preset only.");
  if (std::string_view(DBBENCH_SANITIZE) != "") {
    warnings.push_back(std::string("WARNING: built with -fsanitize=") + DBBENCH_SANITIZE +
                       "; its numbers say nothing.");
  }
  if (AllocatorIsTcmalloc()) {
    warnings.push_back("WARNING: tcmalloc is loaded and profiles are taken; compare these numbers with nothing else.");
  }
  return warnings;
}

}  // namespace strongbin::dbbench
