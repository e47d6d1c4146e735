// A library that is loaded late, holds the pool, and is unloaded again: see unload_test.cc.
#include <unistd.h>

#include "strongbin/pool/chunk_pool.h"

// Returns when the timer's thread has let a chunk decay.
extern "C" bool UseThePoolWithDecay();
extern "C" bool UseThePoolWithDecay() {
  strongbin::ChunkPool& pool = strongbin::ChunkPool::Default();
  if (!pool.SetDecayMs(1)) return false;
  strongbin::ChunkPool::Release(pool.Acquire(4096, strongbin::ChunkKind::k_key));
  while (pool.Stats().decay_drops[1] == 0) usleep(1000);
  return true;
}
