#include "strongbin/arena/value_arena.h"

#include "strongbin/pool/stack_frame.h"

namespace strongbin {
namespace {

MonotonicArenaOptions ForValues(MonotonicArenaOptions options) {
  options.kind = ChunkKind::k_value;
  return options;
}

}  // namespace

ValueArena::ValueArena(const MonotonicArenaOptions& options) : MonotonicArena(ForValues(options)) {}

char* ValueArena::AllocateSlow(size_t bytes, size_t alignment) {
  char* result = MonotonicArena::AllocateSlow(bytes, alignment);
  KeepStackFrame();
  return result;
}

}  // namespace strongbin
