// The memtable's answers in the words of the store.
#pragma once

#include <string_view>

#include <rocksdb/status.h>

#include "strongbin/memtable/status.h"

namespace strongbin::kv {

inline rocksdb::Status FromTable(std::string_view what, Status status) {
  if (status.ok()) return rocksdb::Status::OK();
  const std::string_view reason = status.message();
  return rocksdb::Status::Aborted({what.data(), what.size()}, {reason.data(), reason.size()});
}

}  // namespace strongbin::kv
