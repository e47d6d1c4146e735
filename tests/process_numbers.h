// What a process holds, so that a long run can be seen to hold no more at its end.
#pragma once

#include <cstdio>
#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "strongbin/tests/pool/thread_names.h"

namespace strongbin {

struct ProcessNumbers {
  size_t resident_bytes = 0;
  size_t descriptors = 0;
  size_t threads = 0;

  // What malloc keeps of freed memory has left before.
  static ProcessNumbers Now() {
    malloc_trim(0);
    ProcessNumbers now;
    unsigned long pages = 0;
    if (FILE* file = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
      std::fclose(file);
    }
    now.resident_bytes = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
    if (DIR* folder = opendir("/proc/self/fd")) {
      while (readdir(folder) != nullptr) ++now.descriptors;
      closedir(folder);
    }
    now.threads = CountThreads(nullptr);
    return now;
  }
};

}  // namespace strongbin
