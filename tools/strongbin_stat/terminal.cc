#include "strongbin/tools/strongbin_stat/terminal.h"

#include <cerrno>
#include <clocale>
#include <cmath>
#include <cstring>
#include <ctime>
#include <langinfo.h>
#include <poll.h>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace strongbin::stat_tool {

namespace {

constexpr int kCaught[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};

volatile std::sig_atomic_t end_wanted = 0;
volatile std::sig_atomic_t resized = 0;
void OnSignal(int signal) { (signal == SIGWINCH ? resized : end_wanted) = 1; }

// What cannot be written is lost: the terminal is gone, and SIGHUP on its way.
void Write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<size_t>(count));
  }
}

}  // namespace

Signals::Signals() {
  sigset_t blocked;
  sigemptyset(&blocked);
  struct sigaction action = {};
  action.sa_handler = &OnSignal;
  for (const int signal : kCaught) {
    sigaddset(&blocked, signal);
    sigaction(signal, &action, nullptr);
  }
  sigprocmask(SIG_BLOCK, &blocked, &outside_);
}

Signals::~Signals() {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  for (const int signal : kCaught) sigaction(signal, &action, nullptr);
  sigprocmask(SIG_SETMASK, &outside_, nullptr);
}

Signals::Woken Signals::Wait(double seconds) const {
  const double whole = std::floor(std::max(0.0, seconds));
  const timespec time{static_cast<time_t>(whole), static_cast<long>((std::max(0.0, seconds) - whole) * 1e9)};
  ppoll(nullptr, 0, &time, &outside_);
  if (end_wanted != 0) return Woken::kToEnd;
  if (resized == 0) return Woken::kByTime;
  resized = 0;
  return Woken::kByResize;
}

FullScreen::FullScreen() {
  if (tcgetattr(STDOUT_FILENO, &outside_) == 0) {
    termios quiet = outside_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(STDOUT_FILENO, TCSANOW, &quiet);
  }
  Write("\033[?1049h\033[?25l\033[2J");
}
FullScreen::~FullScreen() {
  Write("\033[?25h\033[?1049l");
  tcsetattr(STDOUT_FILENO, TCSANOW, &outside_);
}

bool FullScreen::IsThere() { return isatty(STDOUT_FILENO) == 1; }

Screen FullScreen::Now() {
  Screen screen;
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    screen.columns = size.ws_col;
    screen.rows = size.ws_row;
  }
  std::setlocale(LC_CTYPE, "");
  screen.utf8 = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  return screen;
}

// Each line clears what is left of the old one, the last also what is below. Lines go by position, so that a full one
// does not scroll.
void FullScreen::Show(const std::string& frame) {
  std::string bytes = "\033[H";
  size_t row = 1;
  for (size_t begin = 0; begin <= frame.size(); ++row) {
    const size_t end = std::min(frame.find('\n', begin), frame.size());
    bytes += "\033[" + std::to_string(row) + ";1H\033[K" + frame.substr(begin, end - begin);
    begin = end + 1;
  }
  Write(bytes + "\033[" + std::to_string(row) + ";1H" + (row <= Now().rows ? "\033[J" : ""));
}

}  // namespace strongbin::stat_tool
