#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "strongbin/c.h"
#include "strongbin/capi/handles.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/pool/pressure_hook.h"
#include "strongbin/pool/pressure_monitor.h"

struct strongbin_monitor {
  std::unique_ptr<strongbin::PressureMonitor> monitor;
};

namespace strongbin::capi {

char* CopyText(std::string_view text) {
  char* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return nullptr;
  copy[text.copy(copy, text.size())] = '\0';
  return copy;
}

}  // namespace strongbin::capi

using strongbin::ChunkPool;
using strongbin::capi::Guarded;

extern "C" {

uint32_t strongbin_c_version(void) { return STRONGBIN_C_VERSION; }

const char* strongbin_status_text(strongbin_status status) {
  switch (status) {
    case STRONGBIN_NOT_SUPPORTED:
      return "this system does not offer it";
    case STRONGBIN_TOO_SMALL:
      return "the buffer is too small";
    default:
      // A literal, so it ends with a zero. What is no code at all becomes one that has no sentence.
      return strongbin::Status(static_cast<strongbin::Status::Code>(static_cast<unsigned>(status) > 255 ? 255 : status))
          .message()
          .data();
  }
}

strongbin_status strongbin_pool_create(const strongbin_pool_options* options, strongbin_pool** pool) {
  strongbin_pool_options chosen = STRONGBIN_POOL_OPTIONS_INIT;
  constexpr size_t kFirstBytes = offsetof(strongbin_pool_options, reserved) + sizeof(chosen.reserved);
  if (pool == nullptr || !strongbin::capi::ReadOptionsInto(options, kFirstBytes, &chosen) || chosen.use_malloc > 1) {
    return STRONGBIN_INVALID_ARGUMENT;
  }
  return Guarded([&] {
    const auto source =
        chosen.use_malloc == 1 ? strongbin::ChunkSourceKind::kMalloc : strongbin::ChunkSourceKind::kMmapSlab;
    auto made = std::make_unique<ChunkPool>(
        strongbin::ChunkPoolOptions{.cap_bytes = chosen.cap_bytes, .source = source, .name = "c"});
    if (chosen.decay_ms != 0 && !made->SetDecayMs(chosen.decay_ms)) return STRONGBIN_NOT_SUPPORTED;
    *pool = new strongbin_pool{.pool = made.get(), .is_owned = true};
    static_cast<void>(made.release());
    return STRONGBIN_OK;
  });
}

strongbin_status strongbin_pool_destroy(strongbin_pool* pool) {
  if (pool == nullptr || !pool->is_owned) return STRONGBIN_INVALID_ARGUMENT;
  // Acquire: with the release of the last user's end.
  if (pool->user_count.load(std::memory_order_acquire) != 0) return STRONGBIN_BUSY;
  delete pool->pool;
  delete pool;
  return STRONGBIN_OK;
}

strongbin_pool* strongbin_pool_of_process(void) {
  // Never destroyed, like the pool itself.
  alignas(strongbin_pool) static char place[sizeof(strongbin_pool)];
  static strongbin_pool* const pool = new (place) strongbin_pool{.pool = &ChunkPool::Default(), .is_owned = false};
  return pool;
}

strongbin_status strongbin_pool_set_cap_bytes(strongbin_pool* pool, size_t cap_bytes) {
  if (pool == nullptr) return STRONGBIN_INVALID_ARGUMENT;
  pool->pool->SetCapBytes(cap_bytes);
  return STRONGBIN_OK;
}

strongbin_status strongbin_pool_set_decay_ms(strongbin_pool* pool, uint64_t decay_ms) {
  if (pool == nullptr) return STRONGBIN_INVALID_ARGUMENT;
  return pool->pool->SetDecayMs(decay_ms) ? STRONGBIN_OK : STRONGBIN_NOT_SUPPORTED;
}

size_t strongbin_pool_relieve_pressure(strongbin_pool* pool) {
  return pool == nullptr ? 0 : pool->pool->OnMemoryPressure();
}

size_t strongbin_relieve_memory_pressure(void) { return strongbin::PressureHook::Process().OnMemoryPressure(); }

strongbin_status strongbin_monitor_start(strongbin_monitor** monitor, char** report) {
  if (monitor == nullptr) return STRONGBIN_INVALID_ARGUMENT;
  if (report != nullptr) *report = nullptr;
  return Guarded([&] {
    auto made = std::make_unique<strongbin_monitor>();
    std::string text;
    made->monitor = strongbin::PressureMonitor::Start({}, &text);
    if (report != nullptr) {
      *report = strongbin::capi::CopyText(text);
      if (*report == nullptr) return STRONGBIN_OUT_OF_MEMORY;
    }
    if (made->monitor == nullptr) return STRONGBIN_NOT_SUPPORTED;
    *monitor = made.release();
    return STRONGBIN_OK;
  });
}

void strongbin_monitor_stop(strongbin_monitor* monitor) { delete monitor; }

void strongbin_text_free(char* text) { std::free(text); }

}  // extern "C"
