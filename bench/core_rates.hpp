// What the core that runs this thread gives at this moment.
#pragma once

#include "kernels/fma_peak/fma_peak.hpp"

namespace bench {

struct CoreRates {
  double clock_hz;         ///< rate of dependent adds, one per cycle on every core in use
  double issue_per_cycle;  ///< independent 16-byte multiplies
  /// Independent multiplies and adds, one to two: as many instructions as the core takes in. A
  /// hardware thread beside it that leaves the multipliers alone still costs half of these.
  double dispatch_per_cycle;
};

/// The clock as the rate of `adds`, which keep the core as busy as the work beside them: wide
/// instructions lower it. Some 200 us, of the dense and the sparse ones in turns; the faster ones
/// tell.
double clock_under(const kernels::fma_peak::Adds& adds);

/// Some 200 us of all, in turns; NaN on an architecture that has no such windows. Medians: an
/// interrupt spoils one pair, a shared core all of them.
CoreRates core_rates();

}  // namespace bench
