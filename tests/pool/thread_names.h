// Which threads a process has.
#pragma once

#include <cstddef>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace strongbin {

// The threads of this process that have this name; null: all.
inline size_t CountThreads(const char* name) {
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return 0;
  size_t count = 0;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    char text[32] = {};
    const int file = open((std::string("/proc/self/task/") + entry->d_name + "/comm").c_str(), O_RDONLY);
    if (file < 0) continue;  // it has just ended
    const ssize_t bytes = read(file, text, sizeof(text) - 1);
    close(file);
    if (bytes <= 0) continue;
    text[bytes - 1] = '\0';  // the closing line break
    count += name == nullptr || std::strcmp(text, name) == 0 ? 1 : 0;
  }
  closedir(folder);
  return count;
}

}  // namespace strongbin
