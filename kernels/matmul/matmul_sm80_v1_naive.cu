// Idea: a thread an entry of Z; the threads of a warp take entries below each other.
// Bound: each lane of a warp reads another row of X: 32 sectors for 32 floats.
// Gains over nothing: it is the ladder's floor.
#include "kernels/cuda/check.hpp"
#include "kernels/matmul/matmul_gpu.hpp"

namespace kernels::matmul {
namespace {

constexpr int kSide = 16;

__global__ void naive_kernel(GpuArguments a) {
  const std::int64_t row = std::int64_t{blockIdx.y} * kSide + threadIdx.x;
  const std::int64_t column = std::int64_t{blockIdx.x} * kSide + threadIdx.y;
  if (row >= a.m || column >= a.n) return;
  const auto* x = static_cast<const float*>(a.x) + blockIdx.z * a.x_stride + row * a.x_pitch;
  const auto* y = static_cast<const float*>(a.y) + blockIdx.z * a.y_stride + column;
  float sum = 0;
  for (std::int64_t k = 0; k < a.k; ++k) sum += x[k] * y[k * a.y_pitch];
  static_cast<float*>(a.z)[blockIdx.z * a.z_stride + row * a.z_pitch + column] = sum;
}

void launch(const GpuArguments& a, cudaStream_t stream) {
  const dim3 blocks((a.n + kSide - 1) / kSide, (a.m + kSide - 1) / kSide, a.batch);
  naive_kernel<<<blocks, dim3(kSide, kSide), 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("naive matmul");
}

}  // namespace

extern const GpuKernel sm80_v1_naive = {
    .exec_unit = "cuda-core", .f32 = launch, .max_flops = 2e10, .max_m = kSide * kMaxGridY};

}  // namespace kernels::matmul
