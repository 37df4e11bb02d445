// Which of many ratios differ for a reason: the statistics of `roofline compare`.
//
// What varies from run to run is not in the samples of one run: pages lie elsewhere, neighbours on
// the host change, the clock settles otherwise. So the run is the unit, never the sample.
//
// Several runs a side: every quantity's runs are compared by the exact Mann-Whitney test, and the
// ratio is Hodges and Lehmann's with the interval that belongs to that test (Hollander and Wolfe,
// Nonparametric Statistical Methods, 4.1-4.3): no distribution is assumed, and a run that met a
// neighbour costs one rank. It needs runs enough to find anything among so many quantities. Runs
// count by their fastest quiet sample, those without any not at all, if that leaves enough: which
// are quiet does not hang on the time that was taken.
//
// Fewer runs: the spread between runs is taken from the comparison itself. Most quantities of two
// runs do not differ for a reason, so the scale of all log ratios about their median is what chance
// does (Efron, Large-Scale Inference, 6); their tails on a shared host are those of Student's t
// with 3 degrees of freedom. Only large differences can be found so; how large is said.
//
// What all quantities of a run have in common (a clock, a neighbour) is taken out and judged once,
// as a difference of the whole. The others' p values are corrected by Holm's method; a fifth of the
// chance of a false alarm is kept for the whole.
//
// Two machines of different kinds: nobody expects them to be the same, so that there is no family
// of differences that chance alone makes. Nothing is taken out, no p value corrected, and of fewer
// runs the spread is what runs of such hosts are known to have: less in a core than beyond it.
#pragma once

#include <limits>
#include <vector>

namespace roofline::compare {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Logarithms of speeds, one a run.
struct Quantity {
  std::vector<double> a, b;
  std::vector<double> best_a, best_b;  ///< the same, of the fastest quiet samples; NaN: none
  double error = 0;                    ///< standard error of mean(b) - mean(a) within the runs
  bool in_core = false;                ///< of a core alone: a peak, L1, L2
};

/// A ratio and its 95 % interval, which is NaN if there are too few runs for one.
struct Ratio {
  double value = kUnknown, low = kUnknown, high = kUnknown;
};

struct Difference {
  Ratio ratio;   ///< speed of B / speed of A
  Ratio own;     ///< without what all quantities have in common
  double p = 1;  ///< of `own`, corrected
  /// p and `own` are beyond the limits; `ratio`, too, where the whole is taken to have moved.
  bool real = false;
};

enum class Method { kMannWhitney, kSpreadOfAll, kSpreadByHost };

struct Outcome {
  std::vector<Difference> each;
  Difference whole;  ///< what all have in common; not tested (p = 1) among few quantities
  Method method = Method::kSpreadOfAll;
  double spread = 0;    ///< scale of the log ratios that chance gives; NaN for kMannWhitney
  double smallest = 0;  ///< the ratio below which a slowdown is found; NaN for kMannWhitney
  double smallest_in_core = kUnknown;  ///< the same in a core; NaN where it is not of its own
};

struct Limits {
  double family_error = 0.01;       ///< chance that a comparison without differences tells of any
  double minimum_effect = 0.03;     ///< of a ratio, as a share
  double host_spread = 0.20;        ///< of log ratios of one quantity, for want of others
  double core_spread = 0.05;        ///< the same of one in a core
  double host_whole_spread = 0.15;  ///< of what all have in common
  /// Whether most quantities can be expected to be the same on both sides: two machines of
  /// different kinds have neither a spread of all nor anything in common that is not a difference.
  bool alike = true;
};

/// All quantities must have as many values a side as there are runs, at least one.
Outcome differences(const std::vector<Quantity>& quantities, const Limits& limits);

/// Two-sided exact p value that both come from one distribution; ties count against a difference.
double mann_whitney_p(const std::vector<double>& a, const std::vector<double>& b);

/// Two-sided p value of Student's t with 3 degrees of freedom.
double t3_p(double t);

/// Holm's step-down correction, in the order of the input.
std::vector<double> holm(const std::vector<double>& p);

}  // namespace roofline::compare
