#include "roofline/ceilings/ceiling_doubts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "roofline/base/statistics.hpp"
#include "roofline/results/quiet.hpp"

namespace roofline {
namespace {

void check_theory(Ceiling& row) {
  if (row.resource == "latency" || std::isnan(row.theory_at_clock)) return;
  const double fraction = row.measured / row.theory_at_clock;
  if (fraction > 1 + kClockUncertainty) {
    flag(row, "above-theory",
         fmt::format("{:.1f} % of the theory at the observed clock; the clock is worth {:.0f} %",
                     100 * fraction, 100 * kClockUncertainty));
  }
}

/// As-lived ceilings that have no quiet one beside them although the gate looked.
void check_quiet(std::vector<Ceiling>& ceilings, const std::vector<Benchmark>& rows) {
  for (Ceiling& ceiling : ceilings) {
    if (ceiling.condition.ends_with("quiet") || hidden(ceilings, ceiling)) continue;
    const bool looked = std::any_of(rows.begin(), rows.end(), [&](const Benchmark& row) {
      return row.gated() && row.device == ceiling.device && row.name == ceiling.probes.front();
    });
    if (looked) {
      flag(ceiling, "not-quiet",
           fmt::format("fewer than {} samples in quiet moments", kFewestQuiet));
    }
  }
}

void check_steadiness(std::vector<Ceiling>& ceilings) {
  for (Ceiling& row : ceilings) {
    if (hidden(ceilings, row)) continue;
    if (row.clock_fall > kClockMoved) {
      flag(row, "clock-moved",
           fmt::format("the clock fell by {:.0f} % between samples", 100 * row.clock_fall));
    }
    if (row.disagreement > kDisagreement) {
      flag(row, "samples-disagree",
           fmt::format("samples lie {:.0f} % off their median", 100 * row.disagreement));
    }
  }
}

void check_order(std::vector<Ceiling>& rows) {
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const Ceiling& inner = rows[i - 1];
    Ceiling& outer = rows[i];
    const auto sweep = [](const Ceiling& c) {
      return std::tie(c.device, c.resource, c.operation, c.dtype, c.exec_unit, c.threads,
                      c.condition);
    };
    if ((outer.resource != "bandwidth" && outer.resource != "latency") ||
        sweep(inner) != sweep(outer)) {
      continue;
    }
    const double ratio =
        rank(outer.resource, outer.measured) / rank(outer.resource, inner.measured);
    if (ratio > 1) {
      flag(outer, "out-of-order",
           fmt::format("{:.1f} % faster than {}", 100 * (ratio - 1), inner.level));
    }
  }
}

/// The fastest of the rows that `is_one` of the same memory at the same moments as `like`.
template <class IsOne>
Ceiling* fastest_beside(std::vector<Ceiling>& rows, const Ceiling& like, IsOne is_one) {
  Ceiling* fastest = nullptr;
  for (Ceiling& row : rows) {
    const bool same = row.resource == "bandwidth" && row.device == like.device &&
                      row.level == like.level && row.threads == like.threads &&
                      row.condition == like.condition;
    if (same && is_one(row) && (!fastest || row.measured > fastest->measured)) fastest = &row;
  }
  return fastest;
}

/// A read that pages at random are faster than: the memory, or its roof, was another then.
void check_pages(std::vector<Ceiling>& rows) {
  const auto is_read = [](const Ceiling& row) { return row.operation == "read"; };
  for (Ceiling& row : rows) {
    if (fastest_beside(rows, row, is_read) != &row) continue;
    const Ceiling* pages = fastest_beside(rows, row, is_of_pages);
    if (pages && pages->measured > row.measured * (1 + kClockUncertainty)) {
      flag(row, "below-kernel",
           fmt::format("{} is {:.1f} % above it", pages->operation,
                       100 * (pages->measured / row.measured - 1)));
    }
  }
}

}  // namespace

void flag_doubtful(std::vector<Ceiling>& ceilings, const std::vector<Benchmark>& probes) {
  for (Ceiling& row : ceilings) check_theory(row);
  check_quiet(ceilings, probes);
  check_steadiness(ceilings);
  check_order(ceilings);
  check_pages(ceilings);
}

}  // namespace roofline
