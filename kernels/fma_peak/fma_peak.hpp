// fma_peak: the most multiply-adds that an execution unit does on operands in registers. A probe
// for the compute roofs: no memory is touched.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/op.hpp"

namespace kernels::fma_peak {

/// Runs `iterations` steps of independent accumulator chains on the values `one` (= 1, passed in so
/// that no chain can be folded) and returns the sum over all lanes of all chains. Every step adds
/// products of ones, so the sum must equal `adds_per_iteration * iterations` exactly.
struct Chain {
  double (*run)(std::int64_t iterations, int one) = nullptr;
  double flops_per_iteration = 0;  ///< a multiply and an add count as two
};

/// kAdds dependent adds each, in the midst of a unit's own instructions, for units that change the
/// clock of a core. The adds set the pace, so that their rate is the clock; where a core has half
/// as many pipes as `dense` is for, those set it, and only the adds among fewer instructions tell.
struct Adds {
  void (*dense)() = nullptr;
  void (*sparse)() = nullptr;  ///< null: `dense` does on every core
};

/// One variant: a chain for each dtype that the unit has instructions for.
struct Kernel {
  const char* exec_unit;
  Chain f64, f32, bf16, s8;
  Chain bf16_s8;  ///< bf16 by int8 on int8 instructions, one for each byte of 16-bit activations
  Adds adds;      ///< none where the unit leaves the clock alone
};

/// Adds of one call: some 15 us.
inline constexpr std::int64_t kAdds = 51200;

/// The adds of a unit, by which the clock is seen that a core keeps under it; none: the unit does
/// not change it.
Adds adds_of(std::string_view exec_unit);

/// Iterations in one call: long against the sum over the lanes at its end (of twelve chains 65 us
/// at 3 GHz), short enough for exact fp32 sums.
inline constexpr std::int64_t kIterations = 32768;

}  // namespace kernels::fma_peak
