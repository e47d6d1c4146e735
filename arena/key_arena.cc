#include "strongbin/arena/key_arena.h"

#include "strongbin/pool/stack_frame.h"

namespace strongbin {
namespace {

MonotonicArenaOptions ForKeys(MonotonicArenaOptions options) {
  options.kind = ChunkKind::k_key;
  return options;
}

}  // namespace

KeyArena::KeyArena(const MonotonicArenaOptions& options) : MonotonicArena(ForKeys(options)) {}

char* KeyArena::AllocateSlow(size_t bytes, size_t alignment) {
  char* result = MonotonicArena::AllocateSlow(bytes, alignment);
  KeepStackFrame();
  return result;
}

}  // namespace strongbin
