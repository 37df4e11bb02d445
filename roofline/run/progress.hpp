// One line on stderr that says how far a run is and how long it will take.
#pragma once

#include <chrono>
#include <string>

namespace roofline {

class Progress {
 public:
  /// `total` work in seconds as expected before anything is known.
  explicit Progress(double total_s);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  double elapsed_s() const;
  /// `done_s` of the work, as expected before, is done, `next_s` when what runs now has ended. On a
  /// terminal the line is rewritten in place, else a new one is printed every 10 s.
  void show(std::size_t done, std::size_t total, const std::string& what, double done_s,
            double next_s);
  /// A line of its own that stays.
  void note(const std::string& line);
  void clear();

 private:
  std::chrono::steady_clock::time_point start_;
  double total_s_;
  bool terminal_;
  double shown_at_s_ = -1e9;
  double done_s_ = -1, begun_at_s_ = 0;  ///< of what runs now
  std::size_t width_ = 0;                ///< of what stands on the terminal's last line
};

/// Of `total_s`, expected before, `done_s` are done and took `took_s`; what runs now, up to
/// `next_s`, has run for `running_s`. Seconds that the rest will take at a pace between the
/// expected and the seen; of what runs longer than that, none.
double time_left(double total_s, double done_s, double took_s, double next_s, double running_s);

/// "1:05" or "2:03:04".
std::string clock_text(double seconds);

}  // namespace roofline
