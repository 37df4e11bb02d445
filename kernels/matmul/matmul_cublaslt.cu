// Idea: cuBLASLt, loaded at run time; the fastest of its heuristic's best algorithms, timed once.
// Bound: the roof of the unit that it chooses (wgmma on Hopper, except for fp64 and plain fp32).
// Gains over the ladder: what the vendor knows.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/cublas.hpp"
#include "kernels/cuda/memory.hpp"
#include "kernels/matmul/matmul_gpu.hpp"
#include "kernels/op.hpp"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

#include <limits>

namespace kernels::matmul {
namespace {

using cuda::Type;

constexpr std::size_t kWorkspace = 64 << 20;
constexpr int kAlgorithms = 8, kTimedCalls = 3;

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw cuda::Error(std::string("cuBLASLt: ") + what + " failed with status " +
                      std::to_string(static_cast<int>(status)));
}

struct Formats {
  cudaDataType_t input, output, scale;
  cublasComputeType_t compute;
};

Formats formats_of(const GpuTypes& types) {
  switch (types.x) {
    case Type::f64:
      return {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case Type::f32:
      return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case Type::tf32:
      return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case Type::bf16:
      return {CUDA_R_16BF, types.z == Type::bf16 ? CUDA_R_16BF : CUDA_R_32F, CUDA_R_32F,
              CUBLAS_COMPUTE_32F};
    case Type::f16:
      return {CUDA_R_16F, types.z == Type::f16 ? CUDA_R_16F : CUDA_R_32F, CUDA_R_32F,
              CUBLAS_COMPUTE_32F};
    case Type::e4m3:  // fast accumulation stays off: sums are promoted to fp32, as in the rungs
                      // here
      return {CUDA_R_8F_E4M3, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    default:
      return {CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I};
  }
}

/// A product and its chosen algorithm. cuBLASLt is column-major: Z^T = Y^T . X^T, where a row-major
/// matrix is its own transpose. Weights stored [N,K] are asked for transposed, which is the one
/// form that 8-bit types have.
class Plan {
 public:
  Plan(const GpuArguments& a, const GpuTypes& types) : formats_(formats_of(types)) {
    check(CUBLASLT(cublasLtCreate)(&handle_), "cublasLtCreate");
    check(CUBLASLT(cublasLtMatmulDescCreate)(&operation_, formats_.compute, formats_.scale),
          "cublasLtMatmulDescCreate");
    if (a.y_transposed) {
      const cublasOperation_t transposed = CUBLAS_OP_T;
      check(CUBLASLT(cublasLtMatmulDescSetAttribute)(operation_, CUBLASLT_MATMUL_DESC_TRANSA,
                                                     &transposed, sizeof transposed),
            "setting the transposition");
    }
    y_ = layout(formats_.input, a.y_transposed ? a.k : a.n, a.y_transposed ? a.n : a.k, a.y_pitch,
                a.batch, a.y_stride);
    x_ = layout(formats_.input, a.k, a.m, a.x_pitch, a.batch, a.x_stride);
    z_ = layout(formats_.output, a.n, a.m, a.z_pitch, a.batch, a.z_stride);
    workspace_ = cuda::allocate(kWorkspace);
    choose(a);
  }
  ~Plan() {
    for (cublasLtMatrixLayout_t l : {x_, y_, z_})
      if (l != nullptr) CUBLASLT(cublasLtMatrixLayoutDestroy)(l);
    if (operation_ != nullptr) CUBLASLT(cublasLtMatmulDescDestroy)(operation_);
    if (handle_ != nullptr) CUBLASLT(cublasLtDestroy)(handle_);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void run(const GpuArguments& a, cudaStream_t stream) const {
    check(enqueue(a, algorithm_, stream), "cublasLtMatmul");
  }

 private:
  static cublasLtMatrixLayout_t layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                                       std::int64_t pitch, std::int64_t batch,
                                       std::int64_t stride) {
    cublasLtMatrixLayout_t l = nullptr;
    check(CUBLASLT(cublasLtMatrixLayoutCreate)(&l, type, rows, columns, pitch),
          "cublasLtMatrixLayoutCreate");
    if (batch > 1) {
      const auto count = static_cast<std::int32_t>(batch);
      const auto set = CUBLASLT(cublasLtMatrixLayoutSetAttribute);
      check(set(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count), "setting the batch");
      check(set(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
            "setting the batch's stride");
    }
    return l;
  }

  cublasStatus_t enqueue(const GpuArguments& a, const cublasLtMatmulAlgo_t& algorithm,
                         cudaStream_t stream) const {
    static const auto matmul = CUBLASLT(cublasLtMatmul);
    // One and zero in the scale's own type.
    const double one_f64 = 1, zero_f64 = 0;
    const float one_f32 = 1, zero_f32 = 0;
    const std::int32_t one_s32 = 1, zero_s32 = 0;
    const void *one = &one_f32, *zero = &zero_f32;
    if (formats_.scale == CUDA_R_64F) one = &one_f64, zero = &zero_f64;
    if (formats_.scale == CUDA_R_32I) one = &one_s32, zero = &zero_s32;
    return matmul(handle_, operation_, one, a.y, y_, a.x, x_, zero, a.z, z_, a.z, z_, &algorithm,
                  workspace_.get(), kWorkspace, stream);
  }

  void choose(const GpuArguments& a) {
    cublasLtMatmulPreference_t preference = nullptr;
    check(CUBLASLT(cublasLtMatmulPreferenceCreate)(&preference), "cublasLtMatmulPreferenceCreate");
    const std::size_t most = kWorkspace;
    cublasLtMatmulHeuristicResult_t found[kAlgorithms];
    int count = 0;
    cublasStatus_t status = CUBLASLT(cublasLtMatmulPreferenceSetAttribute)(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most);
    if (status == CUBLAS_STATUS_SUCCESS)
      status = CUBLASLT(cublasLtMatmulAlgoGetHeuristic)(handle_, operation_, y_, x_, z_, z_,
                                                        preference, kAlgorithms, found, &count);
    CUBLASLT(cublasLtMatmulPreferenceDestroy)(preference);
    if (status != CUBLAS_STATUS_SUCCESS || count == 0)
      throw BadInput("cuBLASLt: no algorithm for this shape and type");
    cudaEvent_t start = nullptr, stop = nullptr;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    float best = std::numeric_limits<float>::infinity();
    for (int i = 0; i < count; ++i) {
      if (found[i].state != CUBLAS_STATUS_SUCCESS ||
          enqueue(a, found[i].algo, nullptr) != CUBLAS_STATUS_SUCCESS)
        continue;
      CUDA_CHECK(cudaEventRecord(start, nullptr));
      for (int call = 0; call < kTimedCalls; ++call)
        check(enqueue(a, found[i].algo, nullptr), "cublasLtMatmul");
      CUDA_CHECK(cudaEventRecord(stop, nullptr));
      CUDA_CHECK(cudaEventSynchronize(stop));
      float milliseconds = 0;
      CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
      if (milliseconds < best) best = milliseconds, algorithm_ = found[i].algo;
    }
    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(stop));
    if (best == std::numeric_limits<float>::infinity())
      throw BadInput("cuBLASLt: none of its algorithms runs this shape and type");
  }

  Formats formats_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t x_ = nullptr, y_ = nullptr, z_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_ = {};
  cuda::Memory workspace_;
};

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  return std::make_shared<Plan>(a, types);
}

void launch(const GpuArguments& a, cudaStream_t stream) {
  static_cast<const Plan*>(a.state)->run(a, stream);
}

std::string label() {
  const std::size_t v = CUBLASLT(cublasLtGetVersion)();
  return "library=cuBLASLt " + std::to_string(v / 10000) + "." + std::to_string(v % 10000 / 100) +
         "." + std::to_string(v % 100) + ";";
}

}  // namespace

extern const GpuKernel cublaslt = {.exec_unit = "",
                                   .f64 = launch,
                                   .f32 = launch,
                                   .tf32 = launch,
                                   .bf16 = launch,
                                   .f16 = launch,
                                   .bf16_out = launch,
                                   .f16_out = launch,
                                   .tf32_pre = launch,
                                   .e4m3 = launch,
                                   .s8 = launch,
                                   .byte_grain = 16,
                                   .open = open,
                                   .label = label};

}  // namespace kernels::matmul

#else  // missing_cublaslt() says so

namespace kernels::matmul {
extern const GpuKernel cublaslt = {.exec_unit = ""};
}

#endif
