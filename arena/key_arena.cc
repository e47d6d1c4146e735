#include "strongbin/arena/key_arena.h"

#include <cstdint>
#include <cstring>

#include "strongbin/pool/stack_frame.h"

namespace strongbin {
namespace {

MonotonicArenaOptions ForKeys(MonotonicArenaOptions options) {
  options.kind = ChunkKind::k_key;
  return options;
}

}  // namespace

KeyArena::KeyArena(const MonotonicArenaOptions& options) : MonotonicArena(ForKeys(options)) {}

char* KeyArena::Copy(std::string_view part1, std::string_view part2) {
  if (part2.size() > SIZE_MAX - part1.size()) return nullptr;
  char* copy = Allocate(part1.size() + part2.size());
  if (copy == nullptr) return nullptr;
  // An empty view may hold a null pointer, which memcpy must not get.
  if (!part1.empty()) std::memcpy(copy, part1.data(), part1.size());
  if (!part2.empty()) std::memcpy(copy + part1.size(), part2.data(), part2.size());
  return copy;
}

char* KeyArena::AllocateSlow(size_t bytes, size_t alignment) {
  char* result = MonotonicArena::AllocateSlow(bytes, alignment);
  KeepStackFrame();
  return result;
}

}  // namespace strongbin
