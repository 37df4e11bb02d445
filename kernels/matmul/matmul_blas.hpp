// What the variants of the CBLAS libraries share.
#pragma once

#include <limits>
#include <memory>

#include "kernels/matmul/matmul.hpp"
#include "kernels/peers/blas.hpp"

namespace kernels::matmul {
namespace {

/// CBLAS takes 32-bit sizes.
std::shared_ptr<void> check_sizes(const Plan& plan, bool) {
  const Shape& s = plan.shape;
  for (const auto size : {s.m, s.n, s.k})
    if (size > std::numeric_limits<int>::max())
      throw BadInput("shape: " + std::to_string(size) + " is beyond the library's 32-bit integers");
  return nullptr;
}

/// Whether the library runs on so many threads; one that is missing has its own reason.
inline bool has_threads(const peers::Blas& blas, int threads) {
  return !blas.missing.empty() || threads == 1 || blas.threaded;
}

template <class X, class Z>
void gemm(peers::Gemm<X, Z>* function, const Plan& plan, const X* x, const X* y, Z* z) {
  const int m = static_cast<int>(plan.shape.m), n = static_cast<int>(plan.shape.n),
            k = static_cast<int>(plan.shape.k);
  function(peers::kRowMajor, peers::kNoTrans, peers::kNoTrans, m, n, k, 1, x, k, y, n, 0, z, n);
}

/// One row is a matrix-vector product, for which a BLAS has another function: a faster one,
/// where it is threaded (BLIS's is not).
template <class T>
void gemm_or_gemv(const peers::Blas& blas, peers::Gemm<T, T>* gemm_function,
                  peers::Gemv<T>* gemv_function, const Plan& plan, const T* x, const T* y, T* z) {
  blas.set_threads(plan.threads);
  if (plan.shape.m > 1) return gemm(gemm_function, plan, x, y, z);
  const int n = static_cast<int>(plan.shape.n), k = static_cast<int>(plan.shape.k);
  gemv_function(peers::kRowMajor, peers::kTrans, k, n, 1, y, n, x, 1, 0, z, 1);
}

template <const peers::Blas& (*Library)()>
constexpr Routine<double, double, double> f64_routine() {
  return {.run =
              [](const Plan& plan, const double* x, const double* y, const float*, double* z) {
                const auto& blas = Library();
                gemm_or_gemv(blas, blas.dgemm, blas.dgemv, plan, x, y, z);
              },
          .open = check_sizes};
}

template <const peers::Blas& (*Library)()>
constexpr Routine<float, float, float> f32_routine() {
  return {.run =
              [](const Plan& plan, const float* x, const float* y, const float*, float* z) {
                const auto& blas = Library();
                gemm_or_gemv(blas, blas.sgemm, blas.sgemv, plan, x, y, z);
              },
          .open = check_sizes};
}

template <const peers::Blas& (*Library)()>
constexpr Routine<bf16, bf16, float> bf16_routine() {
  return {.run =
              [](const Plan& plan, const bf16* x, const bf16* y, const float*, float* z) {
                const auto& blas = Library();
                blas.set_threads(plan.threads);
                gemm(blas.bf16_gemm, plan, x, y, z);
              },
          .open = check_sizes};
}

}  // namespace
}  // namespace kernels::matmul
