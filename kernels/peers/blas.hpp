// Libraries with the CBLAS interface and 32-bit integers: OpenBLAS, BLIS, AOCL-BLAS, MKL.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/cpu_features.hpp"
#include "kernels/dtype.hpp"

namespace kernels::peers {

// The C ABI of <cblas.h>, which every library brings a copy of its own of: enums are ints.
inline constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112;

template <class X, class Z>
using Gemm = void(int layout, int trans_x, int trans_y, int m, int n, int k, Z alpha, const X* x,
                  int ldx, const X* y, int ldy, Z beta, Z* z, int ldz);
template <class T>
using Gemv = void(int layout, int trans, int rows, int columns, T alpha, const T* y, int ldy,
                  const T* x, int incx, T beta, T* z, int incz);
template <class T>
using Dot = T(int n, const T* x, int incx, const T* y, int incy);
/// MKL only. Row major: A unsigned, B signed; C = alpha (A + ao)(B + bo) + beta C + co.
using GemmS8U8S32 = void(int layout, int trans_a, int trans_b, int offset_c, int m, int n, int k,
                         float alpha, const void* a, int lda, std::int8_t ao, const void* b,
                         int ldb, std::int8_t bo, float beta, std::int32_t* c, int ldc,
                         const std::int32_t* co);

struct Blas {
  std::string missing;    ///< why there is none, in words; empty if it is there
  std::string label;      ///< `library=<name version>;library_config=<what it chose>;`
  std::string tuned;      ///< VARIABLE=value by which it would use more of this CPU than
                          ///< it does by itself; empty: it recognised it, or was told
  bool threaded = false;  ///< not if it was built for one thread
  void (*set_threads)(int) = nullptr;  ///< how many the next call runs on

  Gemm<float, float>* sgemm = nullptr;
  Gemm<double, double>* dgemm = nullptr;
  Gemv<float>* sgemv = nullptr;
  Gemv<double>* dgemv = nullptr;
  Dot<float>* sdot = nullptr;
  Dot<double>* ddot = nullptr;
  Gemm<bf16, float>* bf16_gemm = nullptr;  ///< null where the build has none
  GemmS8U8S32* s8u8s32_gemm = nullptr;     ///< null where the build has none
};

/// The core type that suits a CPU with `features` better than `core`, which the library chose by
/// itself; empty if that one uses its widest vectors. OpenBLAS' names, and BLIS'.
std::string better_openblas_core(const std::string& core, const CpuFeatures& features);
std::string better_blis_arch(const std::string& arch, const CpuFeatures& features);

/// What openblas_get_config() tells of a build that runs on fewer threads than there are CPUs,
/// however many it is asked for: ", at most 64 threads"; empty of any other.
std::string openblas_limit(const std::string& config, int cpus);

/// Each is loaded on first use.
const Blas& openblas();
const Blas& blis();
const Blas& aocl_blas();
const Blas& mkl();

}  // namespace kernels::peers
