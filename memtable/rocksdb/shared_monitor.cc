#include "strongbin/memtable/rocksdb/shared_monitor.h"

#include <mutex>

#include "strongbin/pool/fork_guard.h"
#include "strongbin/pool/pressure_monitor.h"

namespace strongbin {

namespace {

// Never destroyed, since a factory may outlive static objects.
struct Shared {
  static Shared& Get() {
    static Shared* const shared = new Shared;
    return *shared;
  }

  std::mutex mutex;
  std::weak_ptr<PressureMonitor> monitor;  // guarded by mutex
  ForkGuard fork_guard{&mutex};
};

[[gnu::constructor]] void MakeAtLoad() { static_cast<void>(Shared::Get()); }  // see fork_guard.h

struct StopAtExit {
  ~StopAtExit() {
    std::shared_ptr<PressureMonitor> monitor;
    {
      const std::lock_guard<std::mutex> lock(Shared::Get().mutex);
      monitor = Shared::Get().monitor.lock();
    }
    if (monitor != nullptr) monitor->Stop();
  }
};

}  // namespace

std::shared_ptr<PressureMonitor> ShareMonitor(std::string* report) {
  Shared& shared = Shared::Get();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  std::shared_ptr<PressureMonitor> monitor = shared.monitor.lock();
  if (monitor != nullptr) return monitor;
  monitor = PressureMonitor::Start({}, report);
  if (monitor == nullptr) return nullptr;
  static const StopAtExit stop_at_exit;
  shared.monitor = monitor;
  return monitor;
}

}  // namespace strongbin
