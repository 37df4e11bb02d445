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
  /// `expected_s` of the work, as expected before, is done. On a terminal the line is rewritten in
  /// place, else a new one is printed every 10 s.
  void show(std::size_t done, std::size_t total, const std::string& what, double expected_s);
  /// A line of its own that stays.
  void note(const std::string& line);
  void clear();

 private:
  std::chrono::steady_clock::time_point start_;
  double total_s_;
  bool terminal_;
  double shown_at_s_ = -1e9;
  std::size_t width_ = 0;  ///< of what stands on the terminal's last line
};

/// Of `total_s`, expected before, `expected_s` are done and took `elapsed_s`: seconds that the rest
/// will take at a pace between the expected and the seen.
double time_left(double total_s, double expected_s, double elapsed_s);

/// "1:05" or "2:03:04".
std::string clock_text(double seconds);

}  // namespace roofline
