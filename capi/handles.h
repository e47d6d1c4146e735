// What stands behind the handles of the C interface.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "strongbin/c.h"
#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/memtable/status.h"
#include "strongbin/pool/chunk_pool.h"

struct strongbin_pool {
  strongbin::ChunkPool* const pool;
  const bool is_owned;
  std::atomic<uint64_t> user_count{0};  // tables, and pins and iterators that may outlive them
};

namespace strongbin::capi {

// Counts a handle as a user of its pool, so that a pool in use refuses to end.
class PoolUser {
 public:
  explicit PoolUser(strongbin_pool* pool) : pool_(pool) { pool_->user_count.fetch_add(1, std::memory_order_relaxed); }
  // Release, with the acquire of the pool's end: what this user did to the pool comes before that.
  ~PoolUser() { pool_->user_count.fetch_sub(1, std::memory_order_release); }
  PoolUser(const PoolUser&) = delete;
  PoolUser& operator=(const PoolUser&) = delete;

  strongbin_pool* pool() const { return pool_; }

 private:
  strongbin_pool* const pool_;
};

// The two lists of codes begin alike.
static_assert(static_cast<int>(Status::Code::kOk) == STRONGBIN_OK &&
              static_cast<int>(Status::Code::kNotFound) == STRONGBIN_NOT_FOUND &&
              static_cast<int>(Status::Code::kDuplicate) == STRONGBIN_DUPLICATE &&
              static_cast<int>(Status::Code::kInvalidArgument) == STRONGBIN_INVALID_ARGUMENT &&
              static_cast<int>(Status::Code::kFrozen) == STRONGBIN_FROZEN &&
              static_cast<int>(Status::Code::kClosed) == STRONGBIN_CLOSED &&
              static_cast<int>(Status::Code::kBusy) == STRONGBIN_BUSY &&
              static_cast<int>(Status::Code::kOutOfMemory) == STRONGBIN_OUT_OF_MEMORY &&
              static_cast<int>(Status::Code::kOverBudget) == STRONGBIN_OVER_BUDGET &&
              static_cast<int>(Status::Code::kTooManyEntries) == STRONGBIN_TOO_MANY_ENTRIES &&
              static_cast<int>(Status::Code::kAborted) == STRONGBIN_ABORTED &&
              static_cast<int>(Status::Code::kCorruption) == STRONGBIN_CORRUPTION);
inline strongbin_status ToC(Status status) { return static_cast<strongbin_status>(status.code()); }

// What `run` answers; an exception is refused memory, which is all that the library throws.
template <class Run>
strongbin_status Guarded(Run&& run) {
#ifdef __cpp_exceptions
  try {
    return std::forward<Run>(run)();
  } catch (...) {
    return STRONGBIN_OUT_OF_MEMORY;
  }
#else
  return std::forward<Run>(run)();
#endif
}

// Reads a struct of options that begins with its size. Of a shorter one, from an older program, the rest is 0; a
// longer one must hold nothing but zeros where this library knows no field. False: neither. `first_bytes` is the size
// of its first version.
template <class Options>
bool ReadOptionsInto(const Options* given, size_t first_bytes, Options* options) {
  if (given == nullptr) return true;
  const size_t given_bytes = given->struct_bytes;
  if (given_bytes < first_bytes) return false;
  const char* const bytes = reinterpret_cast<const char*>(given);
  for (size_t i = sizeof(Options); i < given_bytes; ++i) {
    if (bytes[i] != 0) return false;
  }
  std::memset(static_cast<void*>(options), 0, sizeof(Options));
  std::memcpy(static_cast<void*>(options), bytes, given_bytes < sizeof(Options) ? given_bytes : sizeof(Options));
  return options->reserved == 0;
}

// A copy for strongbin_text_free; null when no memory is left.
char* CopyText(std::string_view text);

}  // namespace strongbin::capi

struct strongbin_table {
  strongbin_table(strongbin_pool* pool, const strongbin::MemtableOptions& options) : user(pool), table(options) {}

  strongbin::capi::PoolUser user;  // ends last
  strongbin::AppendOnlyMemtable table;
};
