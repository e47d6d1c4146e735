#include "strongbin/pool/pool_timer.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>

namespace strongbin {

PoolTimer& PoolTimer::Get() {
  // Made in place, since a pool in use may be refused memory.
  alignas(PoolTimer) static char room[sizeof(PoolTimer)];
  static PoolTimer* const timer = new (room) PoolTimer;
  return *timer;
}

namespace {
[[gnu::constructor]] void MakeAtLoad() { static_cast<void>(PoolTimer::Get()); }  // see fork_guard.h
}  // namespace

uint64_t PoolTimer::NowNs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

PoolTimer::PoolTimer() : fork_guard_(&mutex_, &ForgetThreadAfterFork, this) {}

PoolTimer::Client** PoolTimer::Find(const Client* client) {
  Client** link = &first_client_;
  while (*link != nullptr && *link != client) link = &(*link)->next_client_;
  return link;
}

bool PoolTimer::Serve(Client* client, uint64_t due_ns) {
  const std::lock_guard lock(mutex_);
  if (*Find(client) == nullptr) {
    client->next_client_ = first_client_;
    client->due_ns_ = kNever;
    first_client_ = client;
  }
  client->due_ns_ = std::min(client->due_ns_, due_ns);
  changed_.notify_all();
  if (stopped_) return false;
  if (thread_.started()) return true;
  static const StopAtExit stop_at_exit;
  return thread_.Start("strongbin-pool", [this] { Run(); });
}

void PoolTimer::Forget(Client* client) {
  std::unique_lock lock(mutex_);
  if (Client** link = Find(client); *link != nullptr) *link = client->next_client_;
  changed_.wait(lock, [&] { return running_ != client; });
}

void PoolTimer::Run() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    Client* first = first_client_;
    for (Client* client = first; client != nullptr; client = client->next_client_) {
      if (client->due_ns_ < first->due_ns_) first = client;
    }
    if (first == nullptr || first->due_ns_ == kNever) {
      changed_.wait(lock);
      continue;
    }
    if (first->due_ns_ > NowNs()) {
      const std::chrono::nanoseconds due(static_cast<int64_t>(std::min<uint64_t>(first->due_ns_, INT64_MAX)));
      changed_.wait_until(lock, std::chrono::steady_clock::time_point(due));
      continue;
    }
    first->due_ns_ = kNever;
    running_ = first;
    lock.unlock();
    const uint64_t next_ns = first->OnTimer();
    lock.lock();
    running_ = nullptr;
    // It may be gone, and Serve may have asked for an earlier time meanwhile.
    if (*Find(first) != nullptr) first->due_ns_ = std::min(first->due_ns_, next_ns);
    changed_.notify_all();
  }
}

void PoolTimer::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  thread_.Join();
}

void PoolTimer::ForgetThreadAfterFork(void* timer) {
  auto* self = static_cast<PoolTimer*>(timer);
  self->thread_.Forget();
  // A call that was running did not come to say when it wants to be called next.
  if (Client* const called = *self->Find(self->running_); called != nullptr) called->due_ns_ = 0;
  self->running_ = nullptr;
  // The old one still counts the parent's thread among its waiters. It owns nothing that would have to be freed.
  std::construct_at(&self->changed_);
}

}  // namespace strongbin
