// The SIMD dot product, written once over an instruction set's vectors (kernels/simd/).
#pragma once

#include "kernels/dot/dot.hpp"

namespace kernels::dot {
namespace {

/// Eight accumulators cover latency x throughput of the multiply-add on every core in use (4 cycles
/// x 2 pipes); two loads a multiply-add make the load ports the limit.
template <class F, class T>
T dot_float(const T* x, const T* y, std::int64_t n) {
  constexpr int kChains = 8, kStep = kChains * F::kWidth;
  typename F::V acc[kChains];
  for (auto& a : acc) a = F::zero();
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep)
#pragma GCC unroll 8
    for (int c = 0; c < kChains; ++c)
      acc[c] = F::fma(F::load(x + i + c * F::kWidth), F::load(y + i + c * F::kWidth), acc[c]);
  for (int half = kChains / 2; half > 0; half /= 2)
    for (int c = 0; c < half; ++c) acc[c] = F::add(acc[c], acc[c + half]);
  T total = F::sum(acc[0]);
  for (; i < n; ++i) total += x[i] * y[i];
  return total;
}

template <class F>
float dot_bf16_widened(const bf16* x, const bf16* y, std::int64_t n) {
  constexpr int kChains = 4, kPair = 2 * F::kWidth, kStep = kChains * kPair;
  typename F::V even[kChains], odd[kChains];
  for (int c = 0; c < kChains; ++c) even[c] = odd[c] = F::zero();
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep)
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c) {
      typename F::V xe, xo, ye, yo;
      F::load_even_odd(x + i + c * kPair, xe, xo);
      F::load_even_odd(y + i + c * kPair, ye, yo);
      even[c] = F::fma(xe, ye, even[c]);
      odd[c] = F::fma(xo, yo, odd[c]);
    }
  typename F::V acc = F::zero();
  for (int c = 0; c < kChains; ++c) acc = F::add(acc, F::add(even[c], odd[c]));
  float total = F::sum(acc);
  for (; i < n; ++i) total += static_cast<float>(x[i]) * static_cast<float>(y[i]);
  return total;
}

/// With an instruction that multiplies bf16 pairs and adds them in fp32.
template <class B>
float dot_bf16_native(const bf16* x, const bf16* y, std::int64_t n) {
  constexpr int kChains = 8, kStep = kChains * B::kWidth;
  typename B::V acc[kChains];
  for (auto& a : acc) a = B::zero();
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep)
#pragma GCC unroll 8
    for (int c = 0; c < kChains; ++c)
      acc[c] = B::dot(acc[c], x + i + c * B::kWidth, y + i + c * B::kWidth);
  for (int half = kChains / 2; half > 0; half /= 2)
    for (int c = 0; c < half; ++c) acc[c] = B::add(acc[c], acc[c + half]);
  float total = B::sum(acc[0]);
  for (; i < n; ++i) total += static_cast<float>(x[i]) * static_cast<float>(y[i]);
  return total;
}

template <class I>
std::int64_t dot_s8(const std::int8_t* x, const std::int8_t* y, std::int64_t n) {
  constexpr int kChains = 4, kStep = kChains * I::kWidth;
  std::int64_t total = 0, i = 0;
  while (i + kStep <= n) {
    typename I::V acc[kChains];
    for (auto& a : acc) a = I::zero();
    for (int steps = 0; steps < I::kMaxSteps && i + kStep <= n; ++steps, i += kStep)
#pragma GCC unroll 4
      for (int c = 0; c < kChains; ++c)
        acc[c] = I::dot(acc[c], x + i + c * I::kWidth, y + i + c * I::kWidth);
    for (const auto& a : acc) total += I::sum(a);
  }
  for (; i < n; ++i) total += std::int64_t{x[i]} * y[i];
  return total;
}

}  // namespace
}  // namespace kernels::dot
