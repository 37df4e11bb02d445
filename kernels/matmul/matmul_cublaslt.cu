// Idea: cuBLASLt, loaded at run time; the fastest of its heuristic's best algorithms, each
// timed on the same inputs.
// Bound: the roof of the unit that it chooses (wgmma on Hopper, except for fp64 and plain fp32).
// Gains over the ladder: what the vendor knows.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/cublas.hpp"
#include "kernels/cuda/harness.hpp"
#include "kernels/cuda/memory.hpp"
#include "kernels/matmul/matmul_gpu.hpp"
#include "kernels/op.hpp"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <vector>

namespace kernels::matmul {
namespace {

using cuda::Type;

constexpr std::size_t kWorkspace = 64 << 20;
constexpr int kAlgorithms = 8, kLeastCalls = 2, kMostCalls = 256;
constexpr float kSeconds = 2e-3f;  ///< of calls that an algorithm is judged by
constexpr std::chrono::milliseconds kWarmUp(50);

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string text = std::string("cuBLASLt: ") + what + " failed with status " +
                           std::to_string(static_cast<int>(status));
  // Not initialized: by a driver that is too old for it, or without memory.
  for (const auto refusal : {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_ARCH_MISMATCH,
                             CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ALLOC_FAILED})
    if (status == refusal) throw cuda::Unsupported(text);
  throw cuda::Error(text);
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

struct Destroy {
  void operator()(cublasLtHandle_t p) const { CUBLASLT(cublasLtDestroy)(p); }
  void operator()(cublasLtMatmulDesc_t p) const { CUBLASLT(cublasLtMatmulDescDestroy)(p); }
  void operator()(cublasLtMatrixLayout_t p) const { CUBLASLT(cublasLtMatrixLayoutDestroy)(p); }
  void operator()(cublasLtMatmulPreference_t p) const {
    CUBLASLT(cublasLtMatmulPreferenceDestroy)(p);
  }
  void operator()(cudaEvent_t p) const { cudaEventDestroy(p); }
};
template <class Pointer>
using Owned = std::unique_ptr<std::remove_pointer_t<Pointer>, Destroy>;

Owned<cudaEvent_t> make_event() {
  cudaEvent_t event = nullptr;
  CUDA_CHECK(cudaEventCreate(&event));
  return Owned<cudaEvent_t>(event);
}

/// nvcc 13.0 does not compile vectors of a struct without a name of its own.
struct Algorithm {
  cublasLtMatmulAlgo_t of;
};

/// A product and its chosen algorithm. cuBLASLt is column-major: Z^T = Y^T . X^T, where a row-major
/// matrix is its own transpose. Weights stored [N,K] are asked for transposed, which is the one
/// form that 8-bit types have.
class Plan {
 public:
  Plan(const GpuArguments& a, const GpuTypes& types) : formats_(formats_of(types)) {
    cublasLtHandle_t handle = nullptr;
    check(CUBLASLT(cublasLtCreate)(&handle), "cublasLtCreate");
    handle_.reset(handle);
    cublasLtMatmulDesc_t operation = nullptr;
    check(CUBLASLT(cublasLtMatmulDescCreate)(&operation, formats_.compute, formats_.scale),
          "cublasLtMatmulDescCreate");
    operation_.reset(operation);
    if (a.y_transposed) {
      const cublasOperation_t transposed = CUBLAS_OP_T;
      check(CUBLASLT(cublasLtMatmulDescSetAttribute)(operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                                     &transposed, sizeof transposed),
            "setting the transposition");
    }
    y_ = layout(formats_.input, a.y_transposed ? a.k : a.n, a.y_transposed ? a.n : a.k, a.y_pitch,
                a.batch, a.y_stride);
    x_ = layout(formats_.input, a.k, a.m, a.x_pitch, a.batch, a.x_stride);
    z_ = layout(formats_.output, a.n, a.m, a.z_pitch, a.batch, a.z_stride);
    workspace_ = cuda::allocate(kWorkspace);
    find();
  }

  void run(const GpuArguments& a, cudaStream_t stream) const {
    check(enqueue(a, algorithm_, stream), "cublasLtMatmul");
  }

  /// The fastest of the algorithms found, once clocks are up: each called for some milliseconds
  /// without gaps, over all input copies; those that are near the best once more.
  void choose(const std::vector<GpuArguments>& copies) {
    constexpr float kNear = 1.1f;
    float best = std::numeric_limits<float>::infinity();
    std::vector<float> seconds(found_.size(), 0.0f);
    using Clock = std::chrono::steady_clock;
    for (const auto begin = Clock::now(); Clock::now() - begin < kWarmUp;)
      seconds_of(copies, found_[0].of);
    for (int round = 0; round < 2; ++round)
      for (std::size_t i = 0; i < found_.size(); ++i) {
        if (round > 0 && seconds[i] > kNear * best) continue;
        seconds[i] = seconds_of(copies, found_[i].of);
        if (seconds[i] < best) best = seconds[i], algorithm_ = found_[i].of;
      }
    if (best == std::numeric_limits<float>::infinity())
      throw cuda::Unsupported("cuBLASLt: none of its algorithms runs this shape and type");
  }

 private:
  static Owned<cublasLtMatrixLayout_t> layout(cudaDataType_t type, std::int64_t rows,
                                              std::int64_t columns, std::int64_t pitch,
                                              std::int64_t batch, std::int64_t stride) {
    cublasLtMatrixLayout_t l = nullptr;
    check(CUBLASLT(cublasLtMatrixLayoutCreate)(&l, type, rows, columns, pitch),
          "cublasLtMatrixLayoutCreate");
    Owned<cublasLtMatrixLayout_t> owned(l);
    if (batch > 1) {
      const auto count = static_cast<std::int32_t>(batch);
      const auto set = CUBLASLT(cublasLtMatrixLayoutSetAttribute);
      check(set(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count), "setting the batch");
      check(set(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
            "setting the batch's stride");
    }
    return owned;
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
    return matmul(handle_.get(), operation_.get(), one, a.y, y_.get(), a.x, x_.get(), zero, a.z,
                  z_.get(), a.z, z_.get(), &algorithm, workspace_.get(), kWorkspace, stream);
  }

  void find() {
    cublasLtMatmulPreference_t made = nullptr;
    check(CUBLASLT(cublasLtMatmulPreferenceCreate)(&made), "cublasLtMatmulPreferenceCreate");
    const Owned<cublasLtMatmulPreference_t> preference(made);
    const std::size_t most = kWorkspace;
    check(CUBLASLT(cublasLtMatmulPreferenceSetAttribute)(
              made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most),
          "setting the workspace");
    // Parts of K are not to be added up in a result of 16 bits, which would round more than once.
    if (formats_.output == CUDA_R_16BF || formats_.output == CUDA_R_16F) {
      const std::uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
      check(CUBLASLT(cublasLtMatmulPreferenceSetAttribute)(
                made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes),
            "setting how parts are added up");
    }
    cublasLtMatmulHeuristicResult_t results[kAlgorithms];
    int count = 0;
    const cublasStatus_t status = CUBLASLT(cublasLtMatmulAlgoGetHeuristic)(
        handle_.get(), operation_.get(), y_.get(), x_.get(), z_.get(), z_.get(), made, kAlgorithms,
        results, &count);
    if (status == CUBLAS_STATUS_SUCCESS)
      for (int i = 0; i < count; ++i)
        if (results[i].state == CUBLAS_STATUS_SUCCESS) found_.push_back({results[i].algo});
    if (found_.empty()) throw cuda::Unsupported("cuBLASLt: no algorithm for this shape and type");
  }

  /// A call's; infinite if the algorithm refuses.
  float seconds_of(const std::vector<GpuArguments>& copies, const cublasLtMatmulAlgo_t& algorithm) {
    // The first call may load code, which waits for the device: not behind a gate.
    if (enqueue(copies[0], algorithm, nullptr) != CUBLAS_STATUS_SUCCESS)
      return std::numeric_limits<float>::infinity();
    CUDA_CHECK(cudaDeviceSynchronize());
    const float roughly = seconds_a_call(copies, algorithm, kLeastCalls);
    const int calls =
        static_cast<int>(std::min(kSeconds / roughly, static_cast<float>(kMostCalls)));
    return calls > kLeastCalls ? seconds_a_call(copies, algorithm, calls) : roughly;
  }

  float seconds_a_call(const std::vector<GpuArguments>& copies,
                       const cublasLtMatmulAlgo_t& algorithm, int calls) {
    constexpr int kTries = 3;  // of which the last counts, launch gaps or not
    const auto start = make_event(), stop = make_event();
    cuda::Gate gate;
    for (int left = kTries; left > 0; --left) {
      gate.close(nullptr);
      {
        const cuda::OpenAtEnd opener{gate};
        CUDA_CHECK(cudaEventRecord(start.get(), nullptr));
        for (int call = 0; call < calls; ++call)
          check(enqueue(copies[next_++ % copies.size()], algorithm, nullptr), "cublasLtMatmul");
        CUDA_CHECK(cudaEventRecord(stop.get(), nullptr));
      }
      CUDA_CHECK(cudaEventSynchronize(stop.get()));
      if (!gate.timed_out()) break;
    }
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
    return milliseconds / 1e3f / static_cast<float>(calls);
  }

  Formats formats_;
  Owned<cublasLtHandle_t> handle_;
  Owned<cublasLtMatmulDesc_t> operation_;
  Owned<cublasLtMatrixLayout_t> x_, y_, z_;
  std::vector<Algorithm> found_;
  cublasLtMatmulAlgo_t algorithm_ = {};
  std::size_t next_ = 0;  ///< copy to choose by: L2 still holds those of the calls before
  cuda::Memory workspace_;
};

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  return std::make_shared<Plan>(a, types);
}

void tune(void* state, const std::vector<GpuArguments>& copies) {
  static_cast<Plan*>(state)->choose(copies);
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
                                   .tune = tune,
                                   .label = label};

}  // namespace kernels::matmul

#else  // missing_cublaslt() says so

namespace kernels::matmul {
extern const GpuKernel cublaslt = {.exec_unit = ""};
}

#endif
