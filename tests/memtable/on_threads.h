// Threads that start together.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace strongbin {

// Runs body(thread number) on `count` threads that start together, and waits for them.
template <class Body>
void OnThreads(uint64_t count, const Body& body) {
  std::atomic<uint64_t> waiting{count};
  std::vector<std::thread> threads;
  for (uint64_t number = 0; number < count; ++number) {
    threads.emplace_back([&, number] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      body(number);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace strongbin
