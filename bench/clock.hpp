// The clock that the core really runs at.
#pragma once

namespace bench {

/// Core clock of the calling thread's CPU in Hz, from a chain of dependent integer adds (one a
/// cycle on every core in use), the median of a few windows of about 0.1 ms. NaN on other
/// architectures.
double observed_clock_hz();

}  // namespace bench
