// Tells the first event of a shortage from its echoes.
#pragma once

#include <cstdint>

namespace strongbin {

// Several files tell of one shortage, and each goes on telling while it lasts. An episode ends when nothing has been
// told for `rest_ns`; one that lasts is answered again every `again_ns`.
//
// Thread safety: none.
class PressureEpisode {
 public:
  PressureEpisode(uint64_t rest_ns, uint64_t again_ns) : rest_ns_(rest_ns), again_ns_(again_ns) {}

  // Something was told now: is it to be answered?
  bool Answer(uint64_t now_ns) {
    const bool goes_on = begun_ && now_ns - last_event_ns_ < rest_ns_;
    begun_ = true;
    last_event_ns_ = now_ns;
    if (goes_on && now_ns - last_answer_ns_ < again_ns_) return false;
    last_answer_ns_ = now_ns;
    return true;
  }

 private:
  const uint64_t rest_ns_;
  const uint64_t again_ns_;
  bool begun_ = false;
  uint64_t last_event_ns_ = 0;
  uint64_t last_answer_ns_ = 0;
};

}  // namespace strongbin
