// One side of a comparison: a configuration of dbbench.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace strongbin::dbbench {

struct Side {
  std::string text;                // as it was given
  std::string program;             // empty: this one
  std::string library;             // preloaded; empty: that which the program was built with
  std::vector<std::string> flags;  // behind the common ones
};

// Words, by blanks: --FLAG=VALUE for dbbench; ENGINE for --dbs=ENGINE; pool=off and pool=BYTES for --pool_cap_bytes;
// lib=PATH for another libstrongbin_rocksdb.so; dbbench=PATH for another build of the whole program. False, with the
// reason, when a word is none of these.
bool ParseSide(std::string_view text, Side* side, std::string* error);

}  // namespace strongbin::dbbench
