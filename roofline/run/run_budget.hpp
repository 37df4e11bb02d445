// How much a suite measures, and how the time for it is spread over its groups.
#pragma once

#include <cstddef>
#include <vector>

#include "roofline/run/run_plan.hpp"
#include "roofline/run/run_turns.hpp"

namespace roofline {

/// Processes that are compared take turns, sample by sample, in one round; where memory does not
/// hold the data of all, rounds run them one after the other.
struct Effort {
  int rounds, repetitions;
  double budget_s;  ///< 0: no bound, every sample gets longest_sample_s
  double rounds_s;  ///< for further rounds in want of quiet samples that agree, set-up included
  double again_s;   ///< for doubtful ceilings
  double shortest_sample_s, longest_sample_s;
  int samples() const { return rounds * repetitions; }
};
Effort effort_of(bool full);

class Budget {
 public:
  /// For these groups. `cold_bytes`, of a CPU's data that must come from main memory, is for what
  /// they are expected to take.
  Budget(bool full, const std::vector<const Group*>& groups, const Room& room, double cold_bytes);

  const Effort& effort() const { return effort_; }
  /// One where all processes take turns.
  int rounds(const Group& group) const;
  /// Seconds of a group, as it looks at the start, so that the parts add up to the whole.
  double expected(const Group& group) const;
  /// Seconds of a sample of the group that is next, `elapsed_s` after the start. What is left is
  /// spread over the CPU's benchmarks that are left, so that slow ones early on do not make the
  /// whole late. What a sample on a GPU takes is hardly its own time.
  double sample_s(const Group& group, double elapsed_s) const;
  /// Seconds of a sample of so many benchmarks that are measured again.
  double sample_again_s(std::size_t benchmarks) const;
  /// The group took so long.
  void spend(const Group& group, double seconds);

  double rounds_left_s, again_left_s;  ///< of rounds_s and again_s

 private:
  double cpu_sample_s(double elapsed_s) const;
  std::size_t processes(const Group& group) const { return group.units.size() * rounds(group); }

  Effort effort_;
  Room room_;
  bool full_;
  double cold_bytes_;
  std::size_t benchmarks_left_ = 0, processes_left_ = 0;  ///< on the CPU
  double gpu_s_ = 0;                                      ///< spent on the GPU's groups
  double first_sample_s_ = 0;
};

}  // namespace roofline
