#include "strongbin/arena/value_arena.h"

#include <cstring>

#include "strongbin/pool/stack_frame.h"

namespace strongbin {
namespace {

MonotonicArenaOptions ForValues(MonotonicArenaOptions options) {
  options.kind = ChunkKind::k_value;
  return options;
}

}  // namespace

ValueArena::ValueArena(const MonotonicArenaOptions& options) : MonotonicArena(ForValues(options)) {}

char* ValueArena::Copy(std::string_view value) {
  char* copy = Allocate(value.size());
  // An empty view may hold a null pointer, which memcpy must not get.
  if (copy != nullptr && !value.empty()) std::memcpy(copy, value.data(), value.size());
  return copy;
}

char* ValueArena::AllocateSlow(size_t bytes, size_t alignment) {
  char* result = MonotonicArena::AllocateSlow(bytes, alignment);
  KeepStackFrame();
  return result;
}

}  // namespace strongbin
