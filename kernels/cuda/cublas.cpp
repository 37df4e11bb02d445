#include "kernels/cuda/cublas.hpp"

#include <cuda_runtime_api.h>

namespace kernels::cuda {
namespace {

// The major version of the runtime that this was built with comes first.
#if CUDART_VERSION < 13000
constexpr const char *kCublas[] = {"libcublas.so.12", "libcublas.so.13"},
                     *kCublasLt[] = {"libcublasLt.so.12", "libcublasLt.so.13"};
#else
constexpr const char *kCublas[] = {"libcublas.so.13", "libcublas.so.12"},
                     *kCublasLt[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
#endif
constexpr const char* kPackage = "part of the CUDA toolkit";

}  // namespace

const Found& cublas() {
  static const Found found = find_library(
      {.name = "cuBLAS",
       .variable = "ROOFLINE_CUBLAS",
       .package = kPackage,
       .names = {kCublas[0], kCublas[1]},
       .paths = {"/usr/local/cuda/lib*/libcublas.so.1[23]"},
       .wheels = {"nvidia/cu1[23]/lib/libcublas.so.1[23]", "nvidia/cublas/lib/libcublas.so.1[23]"}},
      {"cublasCreate_v2", "cublasSdot_v2"});
  return found;
}

const Found& cublaslt() {
  static const Found found =
      find_library({.name = "cuBLASLt",
                    .variable = "ROOFLINE_CUBLASLT",
                    .package = kPackage,
                    .names = {kCublasLt[0], kCublasLt[1]},
                    .paths = {"/usr/local/cuda/lib*/libcublasLt.so.1[23]"},
                    .wheels = {"nvidia/cu1[23]/lib/libcublasLt.so.1[23]",
                               "nvidia/cublas/lib/libcublasLt.so.1[23]"}},
                   {"cublasLtCreate", "cublasLtMatmul", "cublasLtMatmulAlgoGetHeuristic"});
  return found;
}

std::string missing_cublas() {
#if __has_include(<cublas_v2.h>)
  return cublas().missing;
#else
  return "cuBLAS: built without cublas_v2.h";
#endif
}

std::string missing_cublaslt() {
#if __has_include(<cublasLt.h>)
  return cublaslt().missing;
#else
  return "cuBLASLt: built without cublasLt.h";
#endif
}

}  // namespace kernels::cuda
