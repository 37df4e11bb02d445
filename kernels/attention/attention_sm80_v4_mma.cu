// Idea: up to 16 query heads of a group are the rows of mma.sync: one read of the cache through a
// cp.async ring serves scores and values of all of them on tensor cores.
// Bound: HBM: 16 rows cost 32 FLOP an element of the cache, a tenth of what mma.sync could do.
// Gains over v3: the multiply-adds leave the CUDA cores; groups of 8 and 16 read the cache once.
//
// 8-bit caches are widened to 16 bits on the way from shared memory: elements that lie side by side
// take the places that the instruction wants apart, and queries and output follow them.
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <type_traits>

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
/// What the tensor cores multiply for a cache of T. int8 is exact in bf16, whose range also holds
/// weights times scales of any size.
template <class T>
using Factor = std::conditional_t<std::is_same_v<T, __nv_fp8_e4m3>, __half,
                                  std::conditional_t<std::is_same_v<T, std::int8_t>, bf16, T>>;

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

/// Two elements of 8 bits, in the low half of `pair`, as two of 16 bits.
template <class T>
__device__ __forceinline__ std::uint32_t widened(std::uint32_t pair) {
  if constexpr (std::is_same_v<T, std::int8_t>) {
    const float low = static_cast<std::int8_t>(pair), high = static_cast<std::int8_t>(pair >> 8);
    std::uint32_t bits[2];
    memcpy(&bits[0], &low, 4);
    memcpy(&bits[1], &high, 4);
    return bits[0] >> 16 | (bits[1] & 0xffff0000u);  // exact: 8 bits
  } else {
    const __half2_raw both =
        __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(pair), __NV_E4M3);
    return both.x | static_cast<std::uint32_t>(both.y) << 16;
  }
}

/// Where chunk `c` of row `row` lies: eight rows of one chunk are in eight different groups of four
/// banks, as ldmatrix reads them.
template <int row_chunks>
__device__ __forceinline__ int place(int row, int c) {
  return row * row_chunks + (c ^ (row & (row_chunks < 8 ? row_chunks - 1 : 7)));
}

template <class T, int dim>
__global__ void __launch_bounds__(kWarps * 32) mma_kernel(GpuArguments a) {
  constexpr int kRowChunks = dim * static_cast<int>(sizeof(T)) / 16;
  constexpr int kTokens = kChunks / kRowChunks;  ///< of a stage
  constexpr bool kNarrow = sizeof(T) == 1, kScaled = std::is_same_v<T, std::int8_t>;
  using F = Factor<T>;
  static_assert(kTokens % 16 == 0, "a stage is whole instructions");
  static_assert(kRowChunks % 4 == 0, "the swizzle stays in its row");
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
      const int head = row + 8 * (r % 2);
      const int d =
          kNarrow ? quad * (dim / 4) + 4 * k + 2 * (r / 2) : 16 * k + 8 * (r / 2) + 2 * quad;
      float2 pair = {0, 0};
      if (head < heads)
        pair = *reinterpret_cast<const float2*>(a.q + std::int64_t{first_head + head} * dim + d);
      q[k][r] = packed<F>(pair.x * scale, pair.y * scale);
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

  // Scales of the stage that is used and of the next one: lane l has those of tokens l, l + 32, …
  constexpr int kScales = kScaled ? (kTokens + 31) / 32 : 1;
  float k_scale[kScales] = {}, v_scale[kScales] = {};
  float next_k_scale[kScales] = {}, next_v_scale[kScales] = {};
  const auto load_scales = [&](int first) {
    if constexpr (kScaled) {
#pragma unroll
      for (int i = 0; i < kScales; ++i) {
        if (first >= end) break;
        const std::int64_t at = row_of(a, sequence, kv_head, min(first + 32 * i + lane, end - 1));
        next_k_scale[i] = a.k_scale[at];
        next_v_scale[i] = a.v_scale[at];
      }
    }
  };
  const auto scale_of = [&](const float(&scales)[kScales], int token) {
    const float mine = token < 32 ? scales[0] : scales[kScales - 1];
    return __shfl_sync(kAllLanes, mine, token % 32);
  };

  float out[dim / 8][4] = {}, max[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) load(begin + s * kTokens, s);
  load_scales(begin);
  int stage = 0;
#pragma unroll 1
  for (int first = begin; first < end; first += kTokens) {
    ptx::copy_async_wait<kStages - 2>();
    __syncwarp();  // every lane's copies are there, and every lane is done with the stage before
    load(first + (kStages - 1) * kTokens, stage == 0 ? kStages - 1 : stage - 1);
#pragma unroll
    for (int i = 0; i < kScales; ++i) {
      k_scale[i] = next_k_scale[i];
      v_scale[i] = next_v_scale[i];
    }
    load_scales(first + kTokens);
#pragma unroll 1
    for (int sub = 0; sub < kTokens && first + sub < end; sub += 16) {
      // Scores of 16 tokens: two accumulators of 8 columns.
      float s[2][4] = {};
      if constexpr (kNarrow) {
#pragma unroll
        for (int j = 0; j < 2; ++j)
#pragma unroll
          for (int i = 0; i < dim / 64; ++i) {
            const uint4 v =
                ring.k[stage][place<kRowChunks>(sub + 8 * j + row, quad * (dim / 64) + i)];
            const std::uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int w = 0; w < 4; ++w)
              multiply(F{}, s[j], q[4 * i + w], {widened<T>(words[w]), widened<T>(words[w] >> 16)});
          }
      } else {
#pragma unroll
        for (int k = 0; k < dim / 16; ++k) {
          std::uint32_t b[4];
          const int token = sub + (lane & 7) + 8 * (lane >> 4), c = 2 * k + ((lane >> 3) & 1);
          ptx::load_matrix_x4(b, &ring.k[stage][place<kRowChunks>(token, c)]);
          multiply(F{}, s[0], q[k], {b[0], b[1]});
          multiply(F{}, s[1], q[k], {b[2], b[3]});
        }
      }
      float value_scale[2][2] = {{1, 1}, {1, 1}};
      if constexpr (kScaled) {
#pragma unroll
        for (int j = 0; j < 2; ++j)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const int token = sub + 8 * j + 2 * quad + e;
            const float key_scale = scale_of(k_scale, token);
            s[j][e] *= key_scale;
            s[j][2 + e] *= key_scale;
            value_scale[j][e] = scale_of(v_scale, token);
          }
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
            p *= value_scale[j][e];
          }
      }
      // As they lie, they are the left operand of the second product.
      const std::uint32_t p[4] = {packed<F>(s[0][0], s[0][1]), packed<F>(s[0][2], s[0][3]),
                                  packed<F>(s[1][0], s[1][1]), packed<F>(s[1][2], s[1][3])};
      if constexpr (kNarrow) {
        // Column `row` of accumulator n is dimension row * dim / 8 + n: of each of its four tokens
        // this lane takes dim / 8 bytes side by side.
        std::uint32_t words[4][dim / 32];
#pragma unroll
        for (int t = 0; t < 4; ++t) {
          const int token = sub + 2 * quad + t % 2 + 8 * (t / 2), byte = row * (dim / 8);
          const auto* chunk_bytes = reinterpret_cast<const unsigned char*>(
              &ring.v[stage][place<kRowChunks>(token, byte / 16)]);
          memcpy(words[t], __builtin_assume_aligned(chunk_bytes + byte % 16, dim / 8), dim / 8);
        }
#pragma unroll
        for (int n = 0; n < dim / 8; ++n) {
          const auto pair = [&](int t) {
            const std::uint32_t low = words[t][n / 4] >> 8 * (n % 4) & 0xff;
            const std::uint32_t high = words[t + 1][n / 4] >> 8 * (n % 4) & 0xff;
            return widened<T>(low | high << 8);
          };
#pragma unroll
          for (int r = 0; r < 4; ++r) out[n][r] *= keep[r / 2];
          multiply(F{}, out[n], p, {pair(0), pair(2)});
        }
      } else {
#pragma unroll
        for (int n = 0; n < dim / 16; ++n) {
          std::uint32_t b[4];
          const int token = sub + (lane & 15), c = 2 * n + (lane >> 4);
          ptx::load_matrix_x4_transposed(b, &ring.v[stage][place<kRowChunks>(token, c)]);
#pragma unroll
          for (int j = 0; j < 2; ++j) {
#pragma unroll
            for (int r = 0; r < 4; ++r) out[2 * n + j][r] *= keep[r / 2];
            multiply(F{}, out[2 * n + j], p, {b[2 * j], b[2 * j + 1]});
          }
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
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int column = 2 * quad + e, d = kNarrow ? column * (dim / 8) + n : 8 * n + column;
        a.partial_sums[slot * dim + d] = out[n][2 * half + e];
      }
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
                                      .e4m3 = both<__nv_fp8_e4m3>(),
                                      .s8 = both<std::int8_t>(),
                                      .splits = true,
                                      .shared_heads = [](int) { return kHeads; },
                                      .tensor_cores = true};

}  // namespace kernels::attention
