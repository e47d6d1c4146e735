// The terminal of --watch, and the signals that end it.
#pragma once

#include <csignal>
#include <string>
#include <termios.h>

#include "strongbin/tools/strongbin_stat/watch_view.h"

namespace strongbin::stat_tool {

// SIGINT, SIGTERM and SIGHUP end a wait, SIGWINCH interrupts it. They are delivered in Wait alone, so that none is
// lost between a look and the next wait. One at a time.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  enum class Woken : uint8_t { kByTime, kByResize, kToEnd };
  Woken Wait(double seconds) const;

 private:
  sigset_t outside_;
};

// Takes the whole screen, and gives it back as it was.
class FullScreen {
 public:
  FullScreen();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  static bool IsThere();  // standard output is a terminal
  static Screen Now();
  // Over the last frame, without flicker.
  static void Show(const std::string& frame);

 private:
  termios outside_ = {};  // what is typed, Ctrl-C too, must not show in the frame
};

}  // namespace strongbin::stat_tool
