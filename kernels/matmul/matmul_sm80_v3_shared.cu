// Idea: a block brings 32 x 32 tiles of X and Y into shared memory and uses each value 32 times.
// Bound: shared memory: two 4-byte reads for each multiply-add.
// Gains over v2: 32 times less traffic from L2: 2.5 times v2 at 4096 cubed on an H200, 7.94
// TFLOP/s.
#include "kernels/cuda/check.hpp"
#include "kernels/matmul/matmul_gpu.hpp"

namespace kernels::matmul {
namespace {

constexpr int kSide = 32;

template <class T>
struct Tiles {
  T x[kSide][kSide];
  T y[kSide][kSide];
};

template <class T>
__global__ void __launch_bounds__(kSide* kSide) shared_kernel(GpuArguments a) {
  __shared__ Tiles<T> tiles;
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::int64_t row = std::int64_t{blockIdx.y} * kSide + ty;
  const std::int64_t column = std::int64_t{blockIdx.x} * kSide + tx;
  const auto* x = static_cast<const T*>(a.x) + blockIdx.z * a.x_stride;
  const auto* y = static_cast<const T*>(a.y) + blockIdx.z * a.y_stride;
  T sum = 0;
  for (std::int64_t k = 0; k < a.k; k += kSide) {
    tiles.x[ty][tx] = row < a.m && k + tx < a.k ? x[row * a.x_pitch + k + tx] : T{0};
    tiles.y[ty][tx] = k + ty < a.k && column < a.n ? y[(k + ty) * a.y_pitch + column] : T{0};
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kSide; ++i) sum += tiles.x[ty][i] * tiles.y[i][tx];
    __syncthreads();
  }
  if (row < a.m && column < a.n)
    static_cast<T*>(a.z)[blockIdx.z * a.z_stride + row * a.z_pitch + column] = sum;
}

template <class T>
void launch(const GpuArguments& a, cudaStream_t stream) {
  const dim3 blocks((a.n + kSide - 1) / kSide, (a.m + kSide - 1) / kSide, a.batch);
  shared_kernel<T><<<blocks, dim3(kSide, kSide), 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("shared matmul");
}

}  // namespace

extern const GpuKernel sm80_v3_shared = {
    .exec_unit = "cuda-core",
    .f64 = launch<double>,
    .f32 = launch<float>,
    .tiles = {.block_m = kSide, .block_n = kSide, .block_k = kSide, .warp_m = 1, .warp_n = 32},
    .max_flops = 1.5e11,
    .max_m = kSide * kMaxGridY};

}  // namespace kernels::matmul
