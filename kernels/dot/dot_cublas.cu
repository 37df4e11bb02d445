// Idea: cuBLAS, loaded at run time; its result stays on the device.
// Bound: the HBM read roof (L2's when resident); launch time below a few megabytes.
// Gains over the ladder: what the vendor knows. bf16 is left out: cublasDotEx rounds its result to
// bf16, where the rungs here keep fp32.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/cublas.hpp"
#include "kernels/dot/dot_gpu.hpp"

#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>

#include <limits>

namespace kernels::dot {
namespace {

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string text = std::string("cuBLAS: ") + what + " failed with status " +
                           std::to_string(static_cast<int>(status));
  // By a driver that is too old for it, or without memory.
  if (status == CUBLAS_STATUS_NOT_INITIALIZED || status == CUBLAS_STATUS_ALLOC_FAILED)
    throw cuda::Unsupported(text);
  throw cuda::Error(text);
}

/// Made by the first call, which verifies; never destroyed, as the library is never unloaded.
cublasHandle_t handle() {
  static const cublasHandle_t made = [] {
    cublasHandle_t h = nullptr;
    check(CUBLAS(cublasCreate_v2)(&h), "cublasCreate");
    check(CUBLAS(cublasSetPointerMode_v2)(h, CUBLAS_POINTER_MODE_DEVICE), "cublasSetPointerMode");
    return h;
  }();
  return made;
}

void use(cudaStream_t stream) {
  static const auto set_stream = CUBLAS(cublasSetStream_v2);
  check(set_stream(handle(), stream), "cublasSetStream");
}

template <class T, class Dot>
std::int64_t launch(Dot* dot, const GpuArguments& a, cudaStream_t stream) {
  use(stream);
  check(dot(handle(), static_cast<int>(a.n), static_cast<const T*>(a.x), 1,
            static_cast<const T*>(a.y), 1, static_cast<T*>(a.results)),
        "cublas?dot");
  return 1;
}
std::int64_t launch_f64(const GpuArguments& a, cudaStream_t stream) {
  static const auto dot = CUBLAS(cublasDdot_v2);
  return launch<double>(dot, a, stream);
}
std::int64_t launch_f32(const GpuArguments& a, cudaStream_t stream) {
  static const auto dot = CUBLAS(cublasSdot_v2);
  return launch<float>(dot, a, stream);
}

std::string label() {
  int v = 0;
  check(CUBLAS(cublasGetVersion_v2)(handle(), &v), "cublasGetVersion");
  return "library=cuBLAS " + std::to_string(v / 10000) + "." + std::to_string(v % 10000 / 100) +
         "." + std::to_string(v % 100) + ";";
}

}  // namespace

extern const GpuKernel cublas = {
    .f64 = launch_f64, .f32 = launch_f32, .max_n = std::numeric_limits<int>::max(), .label = label};

}  // namespace kernels::dot

#else  // missing_cublas() says so

namespace kernels::dot {
extern const GpuKernel cublas = {};
}

#endif
