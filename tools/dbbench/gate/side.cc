#include "strongbin/tools/dbbench/gate/side.h"

#include <filesystem>
#include <sstream>
#include <system_error>

#include "strongbin/tools/dbbench/engine.h"

namespace strongbin::dbbench {
namespace {

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

}  // namespace

bool ParseSide(std::string_view text, Side* side, std::string* error) {
  *side = {};
  side->text = text;
  std::istringstream words{side->text};
  for (std::string word; words >> word;) {
    const std::string value = word.substr(word.find('=') + 1);
    std::string complaint;
    if (word.starts_with("--")) {
      side->flags.push_back(word);
    } else if (word.starts_with("lib=") || word.starts_with("dbbench=")) {
      (word.starts_with("lib=") ? side->library : side->program) = std::filesystem::absolute(value).string();
      if (!IsFile(value)) complaint = "there is no such file";
    } else if (word == "pool=off") {
      side->flags.push_back("--pool_cap_bytes=0");
    } else if (word.starts_with("pool=")) {
      if (value.empty() || value.find_first_not_of("0123456789") != std::string::npos)
        complaint = "not a number of bytes";
      side->flags.push_back("--pool_cap_bytes=" + value);
    } else {
      complaint = CheckEngineName(word);
      side->flags.push_back("--dbs=" + word);
    }
    if (complaint.empty()) continue;
    *error = "\"" + word + "\": " + complaint + "; a side is made of --FLAG=VALUE, an engine, pool=off, pool=BYTES, " +
             "lib=PATH and dbbench=PATH";
    return false;
  }
  return true;
}

}  // namespace strongbin::dbbench
