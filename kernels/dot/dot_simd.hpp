// The SIMD dot product, written once over an instruction set's vectors (kernels/simd/).
#pragma once

#include <type_traits>

#include "kernels/dot/dot.hpp"
#include "kernels/simd/ahead.hpp"
#include "kernels/simd/opaque.hpp"

namespace kernels::dot {
namespace {

/// acc[0] = the sum of `count` (a power of two) accumulators. Unrolled, so that they never leave
/// their registers: through memory it costs as much as a tenth of an L1-sized product.
template <int count, class Set, class V>
[[gnu::always_inline]] inline void fold(V* acc) {
  constexpr int kHalf = count / 2;
#pragma GCC unroll 8
  for (int c = 0; c < kHalf; ++c) acc[c] = Set::add(acc[c], acc[c + kHalf]);
  if constexpr (kHalf > 1) fold<kHalf, Set>(acc);
}

/// Calls at(i) for steps of kStep elements from `begin` on, as many as there are before `end`, and
/// returns where it stopped. Where lines are asked for ahead, both halves go side by side.
template <class How, int kStep, class At>
[[gnu::always_inline]] inline std::int64_t walk(std::int64_t begin, std::int64_t end, At at) {
  std::int64_t i = begin;
  if constexpr (!std::is_same_v<How, Plain>) {
    const std::int64_t half = (end - begin) / 2 / kStep * kStep;
    for (; i < begin + half; i += kStep) {
      at(i);
      at(i + half);
    }
    i += half;
  }
  for (; i + kStep <= end; i += kStep) at(i);
  return i;
}

/// Vector c of a step of vectors of `bytes`: asks once a line.
template <class How, int bytes, class T>
[[gnu::always_inline]] inline void ask(int c, const T* x, const T* y) {
  if (c * bytes % 64 != 0) return;
  How::ask(x);
  How::ask(y);
}

/// Eight accumulators cover latency x throughput of the multiply-add on every core in use (4 cycles
/// x 2 pipes); two loads a multiply-add make the load ports the limit.
template <class F, class T, class How = Plain>
T dot_float(const T* x, const T* y, std::int64_t n) {
  constexpr int kChains = 8, kStep = kChains * F::kWidth;
  typename F::V acc[kChains];
#pragma GCC unroll 8
  for (int c = 0; c < kChains; ++c) acc[c] = F::zero();
  std::int64_t i = walk<How, kStep>(0, n, [&](std::int64_t at) {
#pragma GCC unroll 8
    for (int c = 0; c < kChains; ++c) {
      const T *xs = x + at + c * F::kWidth, *ys = y + at + c * F::kWidth;
      ask<How, F::kWidth * sizeof(T)>(c, xs, ys);
      acc[c] = F::fma(F::load(xs), F::load(ys), acc[c]);
    }
  });
  fold<kChains, F>(acc);
  T total = F::sum(acc[0]);
  for (; i < n; ++i) total += x[i] * y[i];
  return total;
}

template <class F, class How = Plain>
float dot_bf16_widened(const bf16* x, const bf16* y, std::int64_t n) {
  constexpr int kChains = 4, kPair = 2 * F::kWidth, kStep = kChains * kPair;
  typename F::V acc[2 * kChains];  // even, then odd elements
#pragma GCC unroll 8
  for (int c = 0; c < 2 * kChains; ++c) acc[c] = F::zero();
  std::int64_t i = walk<How, kStep>(0, n, [&](std::int64_t at) {
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c) {
      ask<How, 2 * kPair>(c, x + at + c * kPair, y + at + c * kPair);
      typename F::V xs = F::load_pairs(x + at + c * kPair), ys = F::load_pairs(y + at + c * kPair);
      opaque(xs), opaque(ys);  // or GCC loads each once more, as a memory operand of the mask
      typename F::V xe, xo, ye, yo;
      F::even_odd(xs, xe, xo);
      F::even_odd(ys, ye, yo);
      acc[c] = F::fma(xe, ye, acc[c]);
      acc[kChains + c] = F::fma(xo, yo, acc[kChains + c]);
    }
  });
  fold<2 * kChains, F>(acc);
  float total = F::sum(acc[0]);
  for (; i < n; ++i) total += static_cast<float>(x[i]) * static_cast<float>(y[i]);
  return total;
}

/// With an instruction that multiplies bf16 pairs and adds them in fp32.
template <class B, class How = Plain>
float dot_bf16_native(const bf16* x, const bf16* y, std::int64_t n) {
  constexpr int kChains = 8, kStep = kChains * B::kWidth;
  typename B::V acc[kChains];
#pragma GCC unroll 8
  for (int c = 0; c < kChains; ++c) acc[c] = B::zero();
  std::int64_t i = walk<How, kStep>(0, n, [&](std::int64_t at) {
#pragma GCC unroll 8
    for (int c = 0; c < kChains; ++c) {
      const bf16 *xs = x + at + c * B::kWidth, *ys = y + at + c * B::kWidth;
      ask<How, 2 * B::kWidth>(c, xs, ys);
      acc[c] = B::dot(acc[c], xs, ys);
    }
  });
  fold<kChains, B>(acc);
  float total = B::sum(acc[0]);
  for (; i < n; ++i) total += static_cast<float>(x[i]) * static_cast<float>(y[i]);
  return total;
}

/// Lanes of 32 bits are widened to 64 before all chains together have done kMaxSteps.
template <class I, class How = Plain, int kChains = 4>
std::int64_t dot_s8(const std::int8_t* x, const std::int8_t* y, std::int64_t n) {
  constexpr int kStep = kChains * I::kWidth, kRun = kStep * (I::kMaxSteps / kChains);
  std::int64_t total = 0, i = 0;
  while (i + kStep <= n) {
    const std::int64_t end = i + (n - i < kRun ? (n - i) / kStep * kStep : kRun);
    typename I::V acc[kChains];
#pragma GCC unroll 8
    for (int c = 0; c < kChains; ++c) acc[c] = I::zero();
    i = walk<How, kStep>(i, end, [&](std::int64_t at) {
#pragma GCC unroll 8
      for (int c = 0; c < kChains; ++c) {
        const std::int8_t *xs = x + at + c * I::kWidth, *ys = y + at + c * I::kWidth;
        ask<How, I::kWidth>(c, xs, ys);
        acc[c] = I::dot(acc[c], xs, ys);
      }
    });
    fold<kChains, I>(acc);
    total += I::sum(acc[0]);
  }
  for (; i < n; ++i) total += std::int64_t{x[i]} * y[i];
  return total;
}

}  // namespace
}  // namespace kernels::dot
