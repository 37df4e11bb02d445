#include "roofline/run/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "roofline/base/say.hpp"

namespace roofline {

std::string clock_text(double seconds) {
  const long whole = std::lround(std::max(0.0, seconds));
  if (whole >= 3600) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

double time_left(double total_s, double done_s, double took_s, double next_s, double running_s) {
  if (total_s <= 0) return 0;
  // Slow groups early in a run would make its end look several times as far as it is: the
  // expectation counts as much as half a run that was seen.
  const double known = total_s / 2;
  const double pace = (known + took_s) / (known + done_s);
  const double now = std::max(0.0, (next_s - done_s) * pace - running_s);
  return now + (total_s - std::min(next_s, total_s)) * pace;
}

Progress::Progress(double total_s)
    : start_(std::chrono::steady_clock::now()),
      total_s_(total_s),
      terminal_(::isatty(STDERR_FILENO) == 1) {}

double Progress::elapsed_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::show(std::size_t done, std::size_t total, const std::string& what, double done_s,
                    double next_s) {
  const double elapsed = elapsed_s();
  if (done_s != done_s_) {
    done_s_ = done_s;
    begun_at_s_ = elapsed;
  }
  constexpr double kPlainInterval = 10;
  if (!terminal_ && elapsed - shown_at_s_ < kPlainInterval) return;
  shown_at_s_ = elapsed;
  const double left_s = time_left(total_s_, done_s, begun_at_s_, next_s, elapsed - begun_at_s_);
  std::string line = fmt::format("[{}/{}] {} left, {}", done, total, clock_text(left_s), what);
  if (!terminal_) {
    say("{}\n", line);
    return;
  }
  winsize window{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1 &&
      line.size() >= window.ws_col) {
    line.resize(window.ws_col - 1u);
  }
  say("\r{:<{}}", line, width_);
  width_ = line.size();
}

void Progress::note(const std::string& line) {
  clear();
  say("{}\n", line);
}

void Progress::clear() {
  if (!terminal_ || width_ == 0) return;
  say("\r{:<{}}\r", "", width_);
  width_ = 0;
}

}  // namespace roofline
