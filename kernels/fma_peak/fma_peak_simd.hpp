// Multiply-add chains, written once over a vector type.
#pragma once

#include "kernels/fma_peak/fma_peak.hpp"
#include "kernels/simd/opaque.hpp"

namespace kernels::fma_peak {
namespace {

/// Twelve chains: latency x pipes is 8 to 12 on the cores in use, and with the two operands they
/// still fit the sixteen registers of AVX2. Twice as many in the 32 of AVX-512: Zen 5 has two
/// vdpbf16ps a cycle of six cycles each, for which twelve chains would have to follow each other
/// without a gap.
template <std::size_t vector_bytes>
inline constexpr int kChainsOf = vector_bytes == 64 ? 24 : 12;

/// `step(acc, one)` does one multiply-add.
template <class V, class X, class Step, class Sum>
double run_chains(std::int64_t iterations, V zero, X one, Step step, Sum sum) {
  constexpr int kChains = kChainsOf<sizeof(V)>;
  V acc[kChains];  // in registers only if every loop over it is unrolled
#pragma GCC unroll 24
  for (int c = 0; c < kChains; ++c) acc[c] = zero;
  for (std::int64_t i = 0; i < iterations; ++i)
#pragma GCC unroll 24
    for (int c = 0; c < kChains; ++c) {
      acc[c] = step(acc[c], one);
      opaque(acc[c]);  // or GCC reorders the chains until it runs out of registers
    }
  double total = 0;
#pragma GCC unroll 24
  for (int c = 0; c < kChains; ++c) total += sum(acc[c]);
  return total;
}

/// One cycle on every core in use. Register operands: some cores execute an add of a constant while
/// renaming, in no time at all.
inline void dependent_add(std::uint64_t& sum, std::uint64_t unit) {
#if defined(__x86_64__)
  asm volatile("add %1, %0" : "+r"(sum) : "r"(unit) : "cc");
#else
  asm volatile("add %0, %0, %1" : "+r"(sum) : "r"(unit));
#endif
}

/// acc = one * one + acc in every lane.
template <class F>
double fma_chains(std::int64_t iterations, int one) {
  using V = typename F::V;
  return run_chains(
      iterations, F::zero(), F::set1(static_cast<typename F::T>(one)),
      [](V acc, V x) { return F::fma(x, x, acc); },
      [](V acc) { return static_cast<double>(F::sum(acc)); });
}

template <class F>
constexpr Chain fma_chain() {
  return {fma_chains<F>, 2.0 * kChainsOf<sizeof(typename F::V)> * F::kWidth};
}

}  // namespace
}  // namespace kernels::fma_peak
