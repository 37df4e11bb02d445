// Idea: the same chains, one element an instruction (vfmadd231ss/sd).
// Bound: two FMA pipes.
// Below it: nothing; it is the roof of code that was not vectorised.
#include "kernels/fma_peak/fma_peak_simd.hpp"

namespace kernels::fma_peak {
namespace {

template <class T>
double scalar_chains(std::int64_t iterations, int one) {
  return run_chains<T>(
      iterations, T{0}, static_cast<T>(one),
      [](T acc, T x) {
        acc += x * x;         // contracted: this file is compiled with -mfma
        asm("" : "+x"(acc));  // keeps the chains out of one vector
        return acc;
      },
      [](T acc) { return static_cast<double>(acc); });
}

}  // namespace

extern const Kernel avx2_scalar = {.exec_unit = "scalar",
                                   .f64 = {scalar_chains<double>, 2.0 * kChains},
                                   .f32 = {scalar_chains<float>, 2.0 * kChains}};

}  // namespace kernels::fma_peak
