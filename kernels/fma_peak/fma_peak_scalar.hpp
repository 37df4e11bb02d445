// Scalar multiply-add chains; the file that includes this is compiled with scalar FMA.
#pragma once

#include "kernels/fma_peak/fma_peak_simd.hpp"

namespace kernels::fma_peak {
namespace {

template <class T>
double scalar_chains(std::int64_t iterations, int one) {
  return run_chains(
      iterations, T{0}, static_cast<T>(one),
      [](T acc, T& x) {
        opaque(x);           // or the product is computed once, and adds are left
        return acc + x * x;  // one instruction by -ffp-contract=fast
      },
      [](T acc) { return static_cast<double>(acc); });
}

constexpr Kernel scalar_kernel() {
  return {.exec_unit = "scalar",
          .f64 = {scalar_chains<double>, 2.0 * kChainsOf<sizeof(double)>},
          .f32 = {scalar_chains<float>, 2.0 * kChainsOf<sizeof(float)>}};
}

}  // namespace
}  // namespace kernels::fma_peak
