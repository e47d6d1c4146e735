#include "strongbin/pool/pressure_hook.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace strongbin {

struct PressureHook::Registration::Entry {
  const DropFunction drop;
  const Turn turn;
  const uint64_t number;
};

PressureHook::Registration::Registration(Registration&& other) noexcept
    : hook_(std::exchange(other.hook_, nullptr)), entry_(std::move(other.entry_)) {}

PressureHook::Registration& PressureHook::Registration::operator=(Registration&& other) noexcept {
  if (this != &other) {
    Reset();
    hook_ = std::exchange(other.hook_, nullptr);
    entry_ = std::move(other.entry_);
  }
  return *this;
}

void PressureHook::Registration::Reset() {
  if (hook_ == nullptr) return;
  std::exchange(hook_, nullptr)->Remove(entry_);
  entry_.reset();
}

PressureHook::PressureHook() : fork_guard_(&mutex_, &ForgetCallAfterFork, this) {}

PressureHook::~PressureHook() { assert(entries_.empty() && "a registration outlives its hook"); }

PressureHook& PressureHook::Process() {
  static PressureHook* const hook = new PressureHook;
  return *hook;
}

namespace {
[[gnu::constructor]] void MakeAtLoad() { static_cast<void>(PressureHook::Process()); }  // see fork_guard.h
}  // namespace

PressureHook::Registration PressureHook::Add(DropFunction drop, Turn turn) {
  Registration registration;
  const std::lock_guard lock(mutex_);
  registration.entry_ = std::make_shared<Entry>(Entry{std::move(drop), turn, ++last_number_});
  registration.hook_ = this;
  entries_.push_back(registration.entry_);
  return registration;
}

void PressureHook::Remove(const std::shared_ptr<Entry>& entry) {
  std::unique_lock lock(mutex_);
  std::erase(entries_, entry);
  // From within the function itself there is nothing to wait for; the call keeps the function until it returns.
  call_ended_.wait(lock, [&] { return current_ != entry.get() || current_thread_ == std::this_thread::get_id(); });
}

std::shared_ptr<PressureHook::Entry> PressureHook::BeginNext(Turn turn, uint64_t* after, uint64_t up_to) {
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<Entry>& entry : entries_) {
    if (entry->turn != turn || entry->number <= *after || entry->number > up_to) continue;
    *after = entry->number;
    current_ = entry.get();
    current_thread_ = std::this_thread::get_id();
    return entry;
  }
  return nullptr;
}

void PressureHook::EndCurrent() {
  const std::lock_guard lock(mutex_);
  current_ = nullptr;
  call_ended_.notify_all();
}

size_t PressureHook::OnMemoryPressure() {
  call_count_.fetch_add(1, std::memory_order_relaxed);
  if (running_.exchange(true, std::memory_order_relaxed)) return 0;
  uint64_t up_to = 0;
  {
    const std::lock_guard lock(mutex_);
    up_to = last_number_;
  }
  size_t bytes = 0;
  for (const Turn turn : {Turn::kCaches, Turn::kPools}) {
    uint64_t after = 0;
    while (const std::shared_ptr<Entry> entry = BeginNext(turn, &after, up_to)) {
      bytes += entry->drop();
      EndCurrent();
    }
  }
  returned_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  running_.store(false, std::memory_order_relaxed);
  return bytes;
}

void PressureHook::ForgetCallAfterFork(void* hook) {
  auto* self = static_cast<PressureHook*>(hook);
  self->running_.store(false, std::memory_order_relaxed);
  self->current_ = nullptr;
  // The old one may count threads of the parent among its waiters. It owns nothing that would have to be freed.
  std::construct_at(&self->call_ended_);
}

}  // namespace strongbin
