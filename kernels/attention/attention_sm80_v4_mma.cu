// Idea: up to 16 query heads of a group are the rows of mma.sync: one read of the cache through a
// cp.async ring serves scores and values of all of them on tensor cores.
// Bound: HBM: 16 rows cost 64 FLOP an element of the cache, a tenth of what mma.sync does
// meanwhile. Gains over v3: the multiply-adds leave the CUDA cores, and groups of 8 and 16 read the
// cache once.
#include <cuda_fp16.h>

#include "kernels/attention/attention_gpu.cuh"
#include "kernels/cuda/ptx.cuh"
#include "kernels/dtype.hpp"

namespace kernels::attention {
namespace {

namespace ptx = kernels::cuda::ptx;

constexpr int kWarps = 2;   ///< a block; each has a ring and a piece of work of its own
constexpr int kStages = 3;  ///< two on their way while one is used
constexpr int kHeads = 16;  ///< rows of an instruction
constexpr int kStageBytes = 4096;
constexpr int kChunks = kStageBytes / 16;  ///< of 16 bytes

struct Ring {
  uint4 k[kStages][kChunks], v[kStages][kChunks];
};
static_assert(kWarps * sizeof(Ring) <= 48 << 10, "static shared memory");

template <class T>
__device__ __forceinline__ T rounded(float x) {
  return static_cast<T>(x);
}
template <>
__device__ __forceinline__ __half rounded<__half>(float x) {
  return __float2half_rn(x);
}
template <class T>
__device__ __forceinline__ std::uint32_t packed(float low, float high) {
  const T both[2] = {rounded<T>(low), rounded<T>(high)};
  std::uint32_t word;
  memcpy(&word, both, 4);
  return word;
}

__device__ __forceinline__ void multiply(bf16, float (&d)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2]) {
  ptx::mma_bf16(d, a, b);
}
__device__ __forceinline__ void multiply(__half, float (&d)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2]) {
  ptx::mma_f16(d, a, b);
}

/// Where chunk `c` of row `row` lies: eight rows of one chunk are in eight different groups of four
/// banks, as ldmatrix reads them.
template <int row_chunks>
__device__ __forceinline__ int place(int row, int c) {
  return row * row_chunks + (c ^ (row & 7));
}

template <class T, int dim>
__global__ void __launch_bounds__(kWarps * 32) mma_kernel(GpuArguments a) {
  constexpr int kRowChunks = dim * static_cast<int>(sizeof(T)) / 16;
  constexpr int kTokens = kChunks / kRowChunks;  ///< of a stage
  static_assert(kTokens % 16 == 0, "a stage is whole instructions");
  static_assert(kRowChunks % 8 == 0, "the swizzle stays in its row");
  __shared__ Ring rings[kWarps];
  Ring& ring = rings[threadIdx.x / 32];
  const int lane = threadIdx.x % 32, quad = lane % 4, row = lane / 4;
  const int of_kv = a.heads / a.kv_heads, sets = (of_kv + kHeads - 1) / kHeads;
  const int chunk = blockIdx.x, item = blockIdx.y * kWarps + threadIdx.x / 32;
  if (item >= a.batch * a.kv_heads * sets) return;
  const int set = item % sets, kv_head = item / sets % a.kv_heads;
  const int sequence = item / sets / a.kv_heads;
  const int begin = chunk * a.chunk, end = min(length_of(a, sequence), begin + a.chunk);
  const int heads = min(of_kv - set * kHeads, kHeads);
  const int first_head = sequence * a.heads + kv_head * of_kv + set * kHeads;

  // Rows beyond the group are zero.
  std::uint32_t q[dim / 16][4];
  const float scale = kLog2E * rsqrtf(static_cast<float>(dim));
#pragma unroll
  for (int k = 0; k < dim / 16; ++k)
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int head = row + 8 * (r % 2), d = 16 * k + 8 * (r / 2) + 2 * quad;
      float2 pair = {0, 0};
      if (head < heads)
        pair = *reinterpret_cast<const float2*>(a.q + std::int64_t{first_head + head} * dim + d);
      q[k][r] = packed<T>(pair.x * scale, pair.y * scale);
    }

  const auto load = [&](int first, int stage) {
    if (first < end) {
#pragma unroll
      for (int i = 0; i < kChunks / 32; ++i) {
        const int token = (lane + 32 * i) / kRowChunks, c = (lane + 32 * i) % kRowChunks;
        const int valid = first + token < end ? 16 : 0;
        const std::int64_t from =
            row_of(a, sequence, kv_head, min(first + token, end - 1)) * kRowChunks + c;
        const int at = place<kRowChunks>(token, c);
        ptx::copy_async_16(&ring.k[stage][at], static_cast<const uint4*>(a.k) + from, valid);
        ptx::copy_async_16(&ring.v[stage][at], static_cast<const uint4*>(a.v) + from, valid);
      }
    }
    ptx::copy_async_commit();
  };

  float out[dim / 8][4] = {}, max[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) load(begin + s * kTokens, s);
  int stage = 0;
#pragma unroll 1
  for (int first = begin; first < end; first += kTokens) {
    ptx::copy_async_wait<kStages - 2>();
    __syncwarp();  // every lane's copies are there, and every lane is done with the stage before
    load(first + (kStages - 1) * kTokens, stage == 0 ? kStages - 1 : stage - 1);
#pragma unroll 1
    for (int sub = 0; sub < kTokens && first + sub < end; sub += 16) {
      // Scores of 16 tokens: two accumulators of 8 columns.
      float s[2][4] = {};
#pragma unroll
      for (int k = 0; k < dim / 16; ++k) {
        std::uint32_t b[4];
        const int token = sub + (lane & 7) + 8 * (lane >> 4), c = 2 * k + ((lane >> 3) & 1);
        ptx::load_matrix_x4(b, &ring.k[stage][place<kRowChunks>(token, c)]);
        multiply(T{}, s[0], q[k], {b[0], b[1]});
        multiply(T{}, s[1], q[k], {b[2], b[3]});
      }
      // Registers 0 and 1 are of head `row`, 2 and 3 of head `row` + 8.
      float keep[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float next = max[half];
#pragma unroll
        for (int j = 0; j < 2; ++j)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& score = s[j][2 * half + e];
            if (first + sub + 8 * j + 2 * quad + e >= end) score = -INFINITY;
            next = fmaxf(next, score);
          }
        next = fmaxf(next, __shfl_xor_sync(kAllLanes, next, 1));
        next = fmaxf(next, __shfl_xor_sync(kAllLanes, next, 2));
        keep[half] = weight(max[half], next);
        max[half] = next;
        total[half] *= keep[half];
#pragma unroll
        for (int j = 0; j < 2; ++j)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& p = s[j][2 * half + e];
            p = weight(p, next);
            total[half] += p;
          }
      }
      // As they lie, they are the left operand of the second product.
      const std::uint32_t p[4] = {packed<T>(s[0][0], s[0][1]), packed<T>(s[0][2], s[0][3]),
                                  packed<T>(s[1][0], s[1][1]), packed<T>(s[1][2], s[1][3])};
#pragma unroll
      for (int n = 0; n < dim / 16; ++n) {
        std::uint32_t b[4];
        const int token = sub + (lane & 15), c = 2 * n + (lane >> 4);
        ptx::load_matrix_x4_transposed(b, &ring.v[stage][place<kRowChunks>(token, c)]);
#pragma unroll
        for (int j = 0; j < 2; ++j) {
#pragma unroll
          for (int r = 0; r < 4; ++r) out[2 * n + j][r] *= keep[r / 2];
          multiply(T{}, out[2 * n + j], p, {b[2 * j], b[2 * j + 1]});
        }
      }
    }
    stage = stage == kStages - 1 ? 0 : stage + 1;
  }
  ptx::copy_async_wait<0>();

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    total[half] += __shfl_xor_sync(kAllLanes, total[half], 1);
    total[half] += __shfl_xor_sync(kAllLanes, total[half], 2);
    const int head = row + 8 * half;
    if (head >= heads) continue;
    const std::int64_t slot = std::int64_t{first_head + head} * a.chunks + chunk;
#pragma unroll
    for (int n = 0; n < dim / 8; ++n)
      *reinterpret_cast<float2*>(a.partial_sums + slot * dim + 8 * n + 2 * quad) = {
          out[n][2 * half], out[n][2 * half + 1]};
    if (quad == 0) a.partial_stats[slot] = {max[half], total[half]};
  }
}

/// Two launches: the chunks, their combination.
template <class T, int dim>
int launch(const GpuArguments& a, cudaStream_t stream) {
  const int sets = (a.heads / a.kv_heads + kHeads - 1) / kHeads;
  const int items = a.batch * a.kv_heads * sets;
  const dim3 blocks(a.chunks, (items + kWarps - 1) / kWarps);
  mma_kernel<T, dim><<<blocks, kWarps * 32, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("mma attention");
  combine<dim>(a, stream);
  return 2;
}

template <class T>
constexpr GpuLaunches both() {
  return {launch<T, 64>, launch<T, 128>};
}

}  // namespace

extern const GpuKernel sm80_v4_mma = {.bf16 = both<bf16>(),
                                      .f16 = both<__half>(),
                                      .splits = true,
                                      .shared_heads = [](int) { return kHeads; },
                                      .tensor_cores = true};

}  // namespace kernels::attention
