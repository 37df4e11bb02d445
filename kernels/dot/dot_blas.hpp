// What the variants of the CBLAS libraries share.
#pragma once

#include "kernels/dot/dot.hpp"
#include "kernels/peers/blas.hpp"

namespace kernels::dot {
namespace {

/// n is at most 2^31 - 1: dot_op.cpp offers no more to a library.
template <const peers::Blas& (*Library)()>
constexpr Kernel blas_kernel() {
  return {.exec_unit = "",
          .f64 = [](const double* x, const double* y,
                    std::int64_t n) { return Library().ddot(static_cast<int>(n), x, 1, y, 1); },
          .f32 = [](const float* x, const float* y,
                    std::int64_t n) { return Library().sdot(static_cast<int>(n), x, 1, y, 1); },
          .set_threads = [](int threads) { Library().set_threads(threads); },
          .has_threads = [] { return !Library().missing.empty() || Library().threaded; },
          .label = [] { return Library().label; }};
}

}  // namespace
}  // namespace kernels::dot
