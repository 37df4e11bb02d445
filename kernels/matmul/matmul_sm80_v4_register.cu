// Idea: 8 x 8 entries a thread in registers, 16-byte accesses everywhere, the next tile on its way
// while this one is used.
// Bound: the fp32 pipes: 64 multiply-adds for four 16-byte reads of shared memory.
// Gains over v3: 8 times less shared-memory traffic a multiply-add.
#include "kernels/cuda/check.hpp"
#include "kernels/matmul/matmul_gpu.hpp"

namespace kernels::matmul {
namespace {

constexpr int kBlock = 128;  ///< of Z, square
constexpr int kStep = 8;     ///< of K
constexpr int kThreads = 256;
constexpr int kPad = 4;  ///< floats; the transposed stores of X then hit 4 banks, not 1

struct Tiles {
  float x[2][kStep][kBlock + kPad];  ///< transposed: a thread reads along M
  float y[2][kStep][kBlock];
};
static_assert(kBlock * kStep == 4 * kThreads, "a thread loads one 16-byte vector of each tile");
static_assert((kBlock + kPad) % 4 == 0, "16-byte reads of x stay aligned");
static_assert(sizeof(Tiles) <= 48 << 10, "static shared memory");

/// Four floats of which `valid` are there, the rest zero.
__device__ __forceinline__ float4 load4(const float* p, int valid) {
  if (valid >= 4) return *reinterpret_cast<const float4*>(p);
  return {valid > 0 ? p[0] : 0, valid > 1 ? p[1] : 0, valid > 2 ? p[2] : 0, 0};
}

__global__ void __launch_bounds__(kThreads, 2) register_kernel(GpuArguments a) {
  __shared__ Tiles tiles;
  const int t = threadIdx.x;
  const std::int64_t first_row = std::int64_t{blockIdx.y} * kBlock;
  const std::int64_t first_column = std::int64_t{blockIdx.x} * kBlock;

  // What this thread brings in: four values along K of a row of X, four along N of a row of Y.
  // Offsets are 32-bit and pointers move along K: 64-bit indices would spill.
  const int xm = t / 2, xk = t % 2 * 4, yk = t / 32, yn = t % 32 * 4;
  const bool has_row = first_row + xm < a.m;
  const auto* x = static_cast<const float*>(a.x) + blockIdx.z * a.x_stride +
                  (has_row ? (first_row + xm) * a.x_pitch : 0) + xk;
  const auto* y =
      static_cast<const float*>(a.y) + blockIdx.z * a.y_stride + yk * a.y_pitch + first_column + yn;
  int x_left = has_row ? static_cast<int>(a.k) - xk : 0, y_left = static_cast<int>(a.k) - yk;
  const int y_columns = static_cast<int>(a.n - first_column) - yn;
  float4 next_x, next_y;
  const auto load = [&] {
    next_x = load4(x, x_left);
    next_y = load4(y, y_left > 0 ? y_columns : 0);
    x += kStep;
    y += kStep * a.y_pitch;
    x_left -= kStep;
    y_left -= kStep;
  };
  const auto store = [&](int buffer) {
    tiles.x[buffer][xk + 0][xm] = next_x.x;
    tiles.x[buffer][xk + 1][xm] = next_x.y;
    tiles.x[buffer][xk + 2][xm] = next_x.z;
    tiles.x[buffer][xk + 3][xm] = next_x.w;
    *reinterpret_cast<float4*>(&tiles.y[buffer][yk][yn]) = next_y;
  };

  // What it computes: rows ty..ty+3 and 64 further, columns likewise, so that a quarter-warp's
  // 16-byte reads are conflict-free.
  const int ty = t / 16 * 4, tx = t % 16 * 4;
  float sum[8][8] = {};
  load();
  store(0);
  __syncthreads();
  int buffer = 0;
  const int steps = static_cast<int>((a.k + kStep - 1) / kStep);
  for (int step = 1; step <= steps; ++step) {
    const bool more = step < steps;
    if (more) load();
#pragma unroll 2  // more of it spills at two blocks an SM
    for (int i = 0; i < kStep; ++i) {
      float xs[8], ys[8];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        *reinterpret_cast<float4*>(xs + 4 * half) =
            *reinterpret_cast<const float4*>(&tiles.x[buffer][i][ty + 64 * half]);
        *reinterpret_cast<float4*>(ys + 4 * half) =
            *reinterpret_cast<const float4*>(&tiles.y[buffer][i][tx + 64 * half]);
      }
#pragma unroll
      for (int r = 0; r < 8; ++r)
#pragma unroll
        for (int c = 0; c < 8; ++c) sum[r][c] += xs[r] * ys[c];
    }
    if (more) store(buffer ^ 1);  // the other buffer was last read before the previous barrier
    __syncthreads();
    buffer ^= 1;
  }

  auto* z = static_cast<float*>(a.z) + blockIdx.z * a.z_stride;
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    const std::int64_t row = first_row + ty + r % 4 + r / 4 * 64;
    if (row >= a.m) continue;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t column = first_column + tx + 64 * half;
      float* to = z + row * a.z_pitch + column;
      const float* from = sum[r] + 4 * half;
      if (column + 4 <= a.n) {
        *reinterpret_cast<float4*>(to) = {from[0], from[1], from[2], from[3]};
      } else {
#pragma unroll
        for (int c = 0; c < 4; ++c)
          if (column + c < a.n) to[c] = from[c];
      }
    }
  }
}

void launch(const GpuArguments& a, cudaStream_t stream) {
  const dim3 blocks((a.n + kBlock - 1) / kBlock, (a.m + kBlock - 1) / kBlock, a.batch);
  register_kernel<<<blocks, kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("register matmul");
}

}  // namespace

/// A warp's 2 x 16 threads make 16 x 128 entries from 16 values of X and 128 of Y.
extern const GpuKernel sm80_v4_register = {
    .exec_unit = "cuda-core",
    .f32 = launch,
    .tiles = {.block_m = kBlock, .block_n = kBlock, .block_k = kStep, .warp_m = 16, .warp_n = 128}};

}  // namespace kernels::matmul
