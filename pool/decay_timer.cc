#include "strongbin/pool/decay_timer.h"

#include <algorithm>
#include <chrono>
#include <memory>

namespace strongbin {

DecayTimer& DecayTimer::Get() {
  static DecayTimer* const timer = new DecayTimer;
  return *timer;
}

uint64_t DecayTimer::NowNs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

DecayTimer::DecayTimer() : fork_guard_(&mutex_, &ForgetThreadAfterFork, this) {}

DecayTimer::Entry* DecayTimer::Find(Client* client) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.client == client; });
  return found == entries_.end() ? nullptr : &*found;
}

bool DecayTimer::Serve(Client* client, uint64_t due_ns) {
  const std::lock_guard lock(mutex_);
  if (Entry* entry = Find(client)) {
    entry->due_ns = std::min(entry->due_ns, due_ns);
  } else {
    entries_.push_back({client, due_ns});
  }
  changed_.notify_all();
  if (stopped_) return false;
  if (thread_.started()) return true;
  static const StopAtExit stop_at_exit;
  return thread_.Start("strongbin-decay", [this] { Run(); });
}

void DecayTimer::Forget(Client* client) {
  std::unique_lock lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.client == client; });
  changed_.wait(lock, [&] { return running_ != client; });
}

void DecayTimer::Run() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    const auto first = std::min_element(entries_.begin(), entries_.end(),
                                        [](const Entry& a, const Entry& b) { return a.due_ns < b.due_ns; });
    if (first == entries_.end() || first->due_ns == kNever) {
      changed_.wait(lock);
      continue;
    }
    if (first->due_ns > NowNs()) {
      const std::chrono::nanoseconds due(static_cast<int64_t>(std::min<uint64_t>(first->due_ns, INT64_MAX)));
      changed_.wait_until(lock, std::chrono::steady_clock::time_point(due));
      continue;
    }
    Client* const client = first->client;
    first->due_ns = kNever;
    running_ = client;
    lock.unlock();
    const uint64_t next_ns = client->OnTimer();
    lock.lock();
    running_ = nullptr;
    // Serve may have asked for an earlier time meanwhile.
    if (Entry* entry = Find(client)) entry->due_ns = std::min(entry->due_ns, next_ns);
    changed_.notify_all();
  }
}

void DecayTimer::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  thread_.Join();
}

void DecayTimer::ForgetThreadAfterFork(void* timer) {
  auto* self = static_cast<DecayTimer*>(timer);
  self->thread_.Forget();
  // A call that was running did not come to say when it wants to be called next.
  for (Entry& entry : self->entries_) {
    if (entry.client == self->running_) entry.due_ns = 0;
  }
  self->running_ = nullptr;
  // The old one still counts the parent's thread among its waiters. It owns nothing that would have to be freed.
  std::construct_at(&self->changed_);
}

}  // namespace strongbin
