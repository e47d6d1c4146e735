// The one pressure monitor of the process that factories with pressure_monitor=true share.
#pragma once

#include <memory>
#include <string>

namespace strongbin {

class PressureMonitor;

// Starts it where it does not run yet; it runs until the last who shares it lets go, or static objects end. Null, with
// the reason in `report`, where it cannot be started; otherwise `report` says what it watches, or nothing if it ran
// already. Thread safety: any thread.
std::shared_ptr<PressureMonitor> ShareMonitor(std::string* report);

}  // namespace strongbin
