// Up to 16 query heads of a kv head as the rows of mma.sync, 16 tokens of shared memory at a time.
//
// 8-bit caches are widened to 16 bits on the way from shared memory: elements that lie side by side
// take the places that the instruction wants apart, and queries and output follow them.
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstring>
#include <type_traits>

#include "kernels/attention/attention_gpu.cuh"
#include "kernels/cuda/pairs.cuh"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/widen.cuh"
#include "kernels/dtype.hpp"

namespace kernels::attention {

inline constexpr int kMmaHeads = 16;   ///< rows of an instruction
inline constexpr int kMmaTokens = 16;  ///< of a step

/// What the tensor cores multiply for a cache of T. int8 is exact in bf16, whose range also holds
/// weights times scales of any size.
template <class T>
using Factor = std::conditional_t<std::is_same_v<T, __nv_fp8_e4m3>, __half,
                                  std::conditional_t<std::is_same_v<T, std::int8_t>, bf16, T>>;

__device__ __forceinline__ void multiply(bf16, float (&d)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2]) {
  cuda::ptx::mma_bf16(d, a, b);
}
__device__ __forceinline__ void multiply(__half, float (&d)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2]) {
  cuda::ptx::mma_f16(d, a, b);
}

/// Elements `i` and `i` + 1 of a word of four of 8 bits, as two of 16 bits; i is 0 or 2.
template <class T, int i>
__device__ __forceinline__ std::uint32_t widened(std::uint32_t word) {
  if constexpr (std::is_same_v<T, std::int8_t>) {
    return i == 0 ? cuda::widen_low(word) : cuda::widen_high(word);
  } else {
    const __half2_raw both =
        __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(word >> 8 * i), __NV_E4M3);
    return both.x | static_cast<std::uint32_t>(both.y) << 16;
  }
}
/// Element i of each of two words.
template <class T>
__device__ __forceinline__ std::uint32_t widened(std::uint32_t low, std::uint32_t high, int i) {
  if constexpr (std::is_same_v<T, std::int8_t>)
    return cuda::widen_apart(__byte_perm(low, high, i | (4 + i) << 8));
  else
    return widened<T, 0>(__byte_perm(low, high, i | (4 + i) << 4));
}

/// Which heads and tokens a warp, or a block, works on: a piece of an item, which is a kv head's
/// context for a set of its query heads.
struct MmaItem {
  int number, piece;
  int sequence, kv_head, first_head, heads;  ///< first_head counts over all sequences
  int begin, end;                            ///< tokens

  /// Tokens [first, first + tokens) as far as there are any; at most `most` heads.
  __device__ __forceinline__ MmaItem(const GpuArguments& a, int item, int chunk, int first,
                                     int tokens, int most)
      : number(item), piece(chunk) {
    const int of_kv = a.heads / a.kv_heads, sets = (of_kv + most - 1) / most;
    const int set = item % sets;
    kv_head = item / sets % a.kv_heads;
    sequence = item / sets / a.kv_heads;
    begin = first;
    end = min(length_of(a, sequence), first + tokens);
    heads = min(of_kv - set * most, most);
    first_head = sequence * a.heads + kv_head * of_kv + set * most;
  }
  /// A piece of a context that is cut into equal ones.
  __device__ __forceinline__ MmaItem(const GpuArguments& a, int item, int chunk,
                                     int most = kMmaHeads)
      : MmaItem(a, item, chunk, chunk * a.chunk, a.chunk, most) {}
};
/// How many there are.
__host__ __device__ inline int mma_items(const GpuArguments& a, int most = kMmaHeads) {
  return a.batch * a.kv_heads * ((a.heads / a.kv_heads + most - 1) / most);
}

/// One warp's queries and online softmax.
template <class T, int dim>
struct MmaHeads {
  static constexpr bool kNarrow = sizeof(T) == 1, kScaled = std::is_same_v<T, std::int8_t>;
  using F = Factor<T>;

  std::uint32_t q[dim / 16][4];
  /// Elements 0 and 1 are of head lane / 4, 2 and 3 of that + 8; see dimension_of().
  float out[dim / 8][4] = {}, max[2] = {-INFINITY, -INFINITY};
  float total[2] = {0, 0};  ///< of this lane's tokens, until finish()

  /// Which dimension out[n][e] and out[n][2 + e] are of.
  static __device__ __forceinline__ int dimension_of(int n, int e) {
    const int column = 2 * (threadIdx.x % 4) + e;
    return kNarrow ? column * (dim / 8) + n : 8 * n + column;
  }

  /// Rows beyond the group are zero.
  __device__ __forceinline__ void load_queries(const GpuArguments& a, const MmaItem& item) {
    const int lane = threadIdx.x % 32, quad = lane % 4, row = lane / 4;
    const float scale = kLog2E * rsqrtf(static_cast<float>(dim));
#pragma unroll
    for (int k = 0; k < dim / 16; ++k)
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int head = row + 8 * (r % 2);
        const int d =
            kNarrow ? quad * (dim / 4) + 4 * k + 2 * (r / 2) : 16 * k + 8 * (r / 2) + 2 * quad;
        float2 pair = {0, 0};
        if (head < item.heads)
          pair = *reinterpret_cast<const float2*>(a.q + std::int64_t{item.first_head + head} * dim +
                                                  d);
        q[k][r] = cuda::pair_of(F{}, pair.x * scale, pair.y * scale);
      }
  }

  /// Tokens of which 16-byte chunk c of row r is at k[place(r, c)] and v[place(r, c)]; the first
  /// `left` count. Keys of the others may be anything, values must be finite. For int8 all lanes
  /// ask key_scale(r) and value_scale(r) for the rows' scales.
  template <class Place, class KeyScale, class ValueScale>
  __device__ __forceinline__ void step(const uint4* k, const uint4* v, Place place, int left,
                                       KeyScale key_scale, ValueScale value_scale) {
    const int lane = threadIdx.x % 32, quad = lane % 4, row = lane / 4;
    float s[2][4] = {};  // scores: two accumulators of 8 columns
    if constexpr (kNarrow) {
#pragma unroll
      for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int i = 0; i < dim / 64; ++i) {
          const uint4 chunk = k[place(8 * j + row, quad * (dim / 64) + i)];
          const std::uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
          for (int w = 0; w < 4; ++w)
            multiply(F{}, s[j], q[4 * i + w], {widened<T, 0>(words[w]), widened<T, 2>(words[w])});
        }
    } else {
#pragma unroll
      for (int i = 0; i < dim / 16; ++i) {
        std::uint32_t b[4];
        const int token = (lane & 7) + 8 * (lane >> 4), c = 2 * i + ((lane >> 3) & 1);
        cuda::ptx::load_matrix_x4(b, &k[place(token, c)]);
        multiply(F{}, s[0], q[i], {b[0], b[1]});
        multiply(F{}, s[1], q[i], {b[2], b[3]});
      }
    }
    float scale_v[2][2] = {{1, 1}, {1, 1}};
    if constexpr (kScaled) {
#pragma unroll
      for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int token = 8 * j + 2 * quad + e;
          const float scale_k = key_scale(token);
          s[j][e] *= scale_k;
          s[j][2 + e] *= scale_k;
          scale_v[j][e] = value_scale(token);
        }
    }
    float keep[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float next = max[half];
#pragma unroll
      for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = s[j][2 * half + e];
          if (8 * j + 2 * quad + e >= left) score = -INFINITY;
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
          p *= scale_v[j][e];
        }
    }
    // As they lie, they are the left operand of the second product.
    const std::uint32_t p[4] = {
        cuda::pair_of(F{}, s[0][0], s[0][1]), cuda::pair_of(F{}, s[0][2], s[0][3]),
        cuda::pair_of(F{}, s[1][0], s[1][1]), cuda::pair_of(F{}, s[1][2], s[1][3])};
    if constexpr (kNarrow) {
      // Column `row` of accumulator n is dimension row * dim / 8 + n: of each of its four tokens
      // this lane takes dim / 8 bytes side by side.
      std::uint32_t words[4][dim / 32];
#pragma unroll
      for (int t = 0; t < 4; ++t) {
        const int token = 2 * quad + t % 2 + 8 * (t / 2), byte = row * (dim / 8);
        const auto* chunk_bytes =
            reinterpret_cast<const unsigned char*>(&v[place(token, byte / 16)]);
        memcpy(words[t], __builtin_assume_aligned(chunk_bytes + byte % 16, dim / 8), dim / 8);
      }
#pragma unroll
      for (int n = 0; n < dim / 8; ++n) {
        const auto pair = [&](int t) {
          return widened<T>(words[t][n / 4], words[t + 1][n / 4], n % 4);
        };
#pragma unroll
        for (int r = 0; r < 4; ++r) out[n][r] *= keep[r / 2];
        multiply(F{}, out[n], p, {pair(0), pair(2)});
      }
    } else {
#pragma unroll
      for (int n = 0; n < dim / 16; ++n) {
        std::uint32_t b[4];
        const int token = lane & 15, c = 2 * n + (lane >> 4);
        cuda::ptx::load_matrix_x4_transposed(b, &v[place(token, c)]);
#pragma unroll
        for (int j = 0; j < 2; ++j) {
#pragma unroll
          for (int r = 0; r < 4; ++r) out[2 * n + j][r] *= keep[r / 2];
          multiply(F{}, out[2 * n + j], p, {b[2 * j], b[2 * j + 1]});
        }
      }
    }
  }

  /// Brings a head's total together from its four lanes.
  __device__ __forceinline__ void finish() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      total[half] += __shfl_xor_sync(kAllLanes, total[half], 1);
      total[half] += __shfl_xor_sync(kAllLanes, total[half], 2);
    }
  }
};

}  // namespace kernels::attention
