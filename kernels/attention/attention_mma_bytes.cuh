// Up to 8 query heads of a kv head over 32 tokens of an 8-bit cache in shared memory, for
// attention_tma.cuh. int8 is multiplied as it is; e4m3 in fp16, as Hopper's mma.sync has no fp8:
// nvcc makes conversions and two products in fp16 of it.
//
// With g = lane / 4 and q = lane % 4, a lane has head g's scores of tokens 8 t + 2 q + e, t < 4,
// e < 2, as s[t][e]. As the order of tokens in the second product is free, weights stay where they
// are.
#pragma once

#include "kernels/attention/attention_mma.cuh"

namespace kernels::attention {

inline constexpr int kByteTokens = 32;  ///< of a step: a lane loads the row of one

// Rows are 128 bytes, chunk c of row r at c ^ (r % 8), from a multiple of 1024 on: other chunks are
// an XOR away, other rows with the same r % 8 a sum.

/// This lane's address for load_keys().
template <class Place>
__device__ __forceinline__ std::uint32_t keys_address(const uint4* k, Place place) {
  const int lane = threadIdx.x % 32;
  return cuda::ptx::shared_address(&k[place(lane % 8 + 8 * (lane / 16), lane / 8 % 2)]);
}
/// words[2 i + j] is of token 16 h + 8 i + g: bytes 4 q to 4 q + 3 of chunk 2 c + j.
__device__ __forceinline__ void load_keys(std::uint32_t (&words)[4], std::uint32_t address, int h,
                                          int c) {
  cuda::ptx::load_matrix_x4(words, (address ^ 32 * c) + 16 * 128 * h);
}

/// This lane's address for load_values().
template <class Place>
__device__ __forceinline__ std::uint32_t values_address(const uint4* v, Place place) {
  return cuda::ptx::shared_address(&v[place(threadIdx.x % 32, 0)]);
}
/// even[i] is of dimension 16 c + 2 g, odd[i] of the next one: tokens 16 i + 2 q, + 1, + 8, + 9.
__device__ __forceinline__ void load_values(std::uint32_t (&even)[2], std::uint32_t (&odd)[2],
                                            std::uint32_t address, int c) {
  // Transposed as pairs of bytes: two tokens of two dimensions in a word.
  std::uint32_t words[4];
  cuda::ptx::load_matrix_x4_transposed(words, address ^ 16 * c);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    even[i] = __byte_perm(words[2 * i], words[2 * i + 1], 0x6420);
    odd[i] = __byte_perm(words[2 * i], words[2 * i + 1], 0x7531);
  }
}

/// Online softmax relative to a reference that is raised only where a score lies kHeadroom above
/// the highest that it was set by: sums are seldom rescaled, and no maximum is looked for.
struct ByteSoftmax {
  static constexpr int kHeadroom = 3;                           ///< in units of log2
  static constexpr float kLowestTop = 2.0f / (1 << kHeadroom);  ///< the largest weight, at least

  float reference = -INFINITY;
  float total = 0;  ///< of this lane's tokens, until finish()

  /// Weights, below 2. False where one is not: the reference must be raised.
  __device__ __forceinline__ bool weigh(const float (&s)[4][2], float (&p)[4][2]) const {
    std::uint32_t bits = 0;
#pragma unroll
    for (int t = 0; t < 4; ++t)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        p[t][e] = cuda::ptx::exp2_approx(s[t][e] - reference);
        bits |= __float_as_uint(p[t][e]);
      }
    return bits < 0x40000000u;  // infinity and NaN, from the first reference, have that bit as well
  }

  /// Raises the reference of those heads that need it, by whole warps. Returns what the head's sums
  /// so far are to be multiplied with.
  __device__ __forceinline__ float raise(const float (&s)[4][2]) {
    float top = -INFINITY;
#pragma unroll
    for (int t = 0; t < 4; ++t)
#pragma unroll
      for (int e = 0; e < 2; ++e) top = fmaxf(top, s[t][e]);
    top = fmaxf(top, __shfl_xor_sync(kAllLanes, top, 1));
    top = fmaxf(top, __shfl_xor_sync(kAllLanes, top, 2));
    const float next = top - reference < 1 ? reference : top + (kHeadroom - 1);
    const float keep = cuda::ptx::exp2_approx(reference - next);
    reference = next;
    total *= keep;
    return keep;
  }

  __device__ __forceinline__ void add(const float (&p)[4][2]) {
    total +=
        ((p[0][0] + p[0][1]) + (p[1][0] + p[1][1])) + ((p[2][0] + p[2][1]) + (p[3][0] + p[3][1]));
  }

  __device__ __forceinline__ void finish() {
    total += __shfl_xor_sync(kAllLanes, total, 1);
    total += __shfl_xor_sync(kAllLanes, total, 2);
  }

  /// Scores of tokens from `left` on, which may be anything, weigh nothing.
  static __device__ __forceinline__ void mask(float (&s)[4][2], int left) {
    if (left >= kByteTokens) return;
#pragma unroll
    for (int t = 0; t < 4; ++t)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (8 * t + 2 * static_cast<int>(threadIdx.x % 4) + e >= left) s[t][e] = -INFINITY;
  }
};

template <class T, int dim>
struct ByteHeads;

/// Heads are rows of the first product; the other eight rows are what rounding to fp16 left of
/// their queries. In the second product heads are columns and dimensions rows, so that none are
/// unused.
template <int dim>
struct ByteHeads<__nv_fp8_e4m3, dim> {
  using Element = __nv_fp8_e4m3;
  static constexpr int kDim = dim, kMost = 8, kStepTokens = kByteTokens;
  static constexpr bool kScaled = false, kAnyValue = false;
  static_assert(dim == 128, "a row is one period of the swizzle");

  std::uint32_t q[dim / 16][4];
  /// out[c][r] is of head 2 q + r % 2 and dimension 16 c + 2 g + r / 2.
  float out[dim / 16][4] = {};
  ByteSoftmax softmax;

  /// In the order of the cache's words: a lane has 16 c + 4 q to 16 c + 4 q + 3.
  __device__ __forceinline__ void load_queries(const GpuArguments& a, const MmaItem& item) {
    const int lane = threadIdx.x % 32, quad = lane % 4, head = lane / 4;
    const float scale = kLog2E * rsqrtf(static_cast<float>(dim));
    const float* from = a.q + std::int64_t{item.first_head + head} * dim + 4 * quad;
    const auto left_of = [](float x) { return x - __half2float(__float2half_rn(x)); };
#pragma unroll
    for (int c = 0; c < dim / 16; ++c) {
      float4 x = {0, 0, 0, 0};
      if (head < item.heads) x = *reinterpret_cast<const float4*>(from + 16 * c);
      x.x *= scale, x.y *= scale, x.z *= scale, x.w *= scale;
      q[c][0] = cuda::pair_of(__half{}, x.x, x.y);
      q[c][1] = cuda::pair_of(__half{}, left_of(x.x), left_of(x.y));
      q[c][2] = cuda::pair_of(__half{}, x.z, x.w);
      q[c][3] = cuda::pair_of(__half{}, left_of(x.z), left_of(x.w));
    }
  }

  template <class Place>
  __device__ __forceinline__ void step(const uint4* k, const uint4* v, Place place, int left, float,
                                       float) {
    const std::uint32_t keys = keys_address(k, place), values = values_address(v, place);
    float d[4][4] = {};
#pragma unroll
    for (int c = 0; c < dim / 32; ++c)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        std::uint32_t words[4];
        load_keys(words, keys, h, c);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          std::uint32_t b[2];
          cuda::ptx::widen_e4m3(b, words[i]);
          cuda::ptx::mma_f16(d[2 * h + i / 2], q[2 * c + i % 2], b);
        }
      }
    float s[4][2], p[4][2];
#pragma unroll
    for (int t = 0; t < 4; ++t)
#pragma unroll
      for (int e = 0; e < 2; ++e) s[t][e] = d[t][e] + d[t][2 + e];
    softmax.mask(s, left);
    if (__any_sync(kAllLanes, !softmax.weigh(s, p))) {
      rescale(softmax.raise(s));
      softmax.weigh(s, p);
    }
    softmax.add(p);

    std::uint32_t weights[4];
#pragma unroll
    for (int t = 0; t < 4; ++t) weights[t] = cuda::pair_of(__half{}, p[t][0], p[t][1]);
#pragma unroll
    for (int c = 0; c < dim / 16; ++c) {
      std::uint32_t even[2], odd[2];
      load_values(even, odd, values, c);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        std::uint32_t upper[2], lower[2];
        cuda::ptx::widen_e4m3(upper, even[i]);
        cuda::ptx::widen_e4m3(lower, odd[i]);
        cuda::ptx::mma_f16(out[c], {upper[0], lower[0], upper[1], lower[1]},
                           {weights[2 * i], weights[2 * i + 1]});
      }
    }
  }

  __device__ __forceinline__ void finish() { softmax.finish(); }

  template <class Sum, class Stat>
  __device__ __forceinline__ void leave(Sum sum, Stat stat) const {
    const int lane = threadIdx.x % 32, quad = lane % 4, row = lane / 4;
#pragma unroll
    for (int c = 0; c < dim / 16; ++c)
#pragma unroll
      for (int r = 0; r < 4; ++r) sum(2 * quad + r % 2, 16 * c + 2 * row + r / 2, out[c][r]);
    if (quad == 0) stat(row, softmax.reference, softmax.total);
  }

 private:
  /// `keep` is that of head g.
  __device__ __forceinline__ void rescale(float keep) {
    const int quad = threadIdx.x % 4;
    const float of_head[2] = {__shfl_sync(kAllLanes, keep, 8 * quad),
                              __shfl_sync(kAllLanes, keep, 8 * quad + 4)};
#pragma unroll
    for (int c = 0; c < dim / 16; ++c)
#pragma unroll
      for (int r = 0; r < 4; ++r) out[c][r] *= of_head[r % 2];
  }
};

/// Queries and weights are whole numbers of two digits to the base 256: rows g of an instruction
/// are the high ones of head g, rows g + 8 the low ones, which meet in one lane. All products are
/// exact.
///
/// A weight, p times the value's scale, is a number of 16 bits in a unit that only the largest
/// scale so far sets. It is rounded up as often as its fraction says, by a threshold that changes
/// from step to step: many weights of less than a unit must not all become none.
template <int dim>
struct ByteHeads<std::int8_t, dim> {
  using Element = std::int8_t;
  static constexpr int kDim = dim, kMost = 8, kStepTokens = kByteTokens;
  static constexpr bool kScaled = true, kAnyValue = true;
  static_assert(dim == 128, "a row is one period of the swizzle");
  static constexpr float kLargestQuery = 127 * 256 + 127;
  static constexpr float kLargestScale = 32767;  ///< in units; times a p below 2 it has 16 bits
  static constexpr float kScaleRoom = 1.25f;     ///< above the scale that the unit was set by
  static constexpr TwoTerms kTwoTerms = {
      .s8_query = 0.5 / kLargestQuery,
      .s8_weight = kScaleRoom / (kLargestScale * ByteSoftmax::kLowestTop)};
  /// In half as many steps as it takes to leave 32 bits, at -128 times 255 each time, sums below
  /// half of the range stay within it.
  static constexpr int kMostSteps = (1 << 30) / (128 * 255 * kStepTokens);

  std::uint32_t q[dim / 32][4];
  float q_unit;
  /// sums[2 c + i][r] is of dimension 16 c + 4 q + 2 (r % 2) + i; r < 2 of high digits.
  int sums[dim / 8][4] = {};
  float units = INFINITY;  ///< in a weight of 1: none yet
  int steps_left = kMostSteps;
  std::uint32_t threshold = threadIdx.x * kGolden;
  ByteSoftmax softmax;

  __device__ __forceinline__ void load_queries(const GpuArguments& a, const MmaItem& item) {
    const int lane = threadIdx.x % 32, quad = lane % 4, head = lane / 4;
    const float* from = a.q + std::int64_t{item.first_head + head} * dim + 4 * quad;
    float elements[dim / 16][4] = {}, top = 1e-30f;
#pragma unroll
    for (int c = 0; c < dim / 16; ++c) {
      if (head < item.heads) {
        const float4 four = *reinterpret_cast<const float4*>(from + 16 * c);
        elements[c][0] = four.x, elements[c][1] = four.y;
        elements[c][2] = four.z, elements[c][3] = four.w;
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) top = fmaxf(top, fabsf(elements[c][i]));
    }
    top = fmaxf(top, __shfl_xor_sync(kAllLanes, top, 1));
    top = fmaxf(top, __shfl_xor_sync(kAllLanes, top, 2));
    const float in_units = kLargestQuery / top;
    q_unit = top / kLargestQuery * (kLog2E * rsqrtf(static_cast<float>(dim)));
#pragma unroll
    for (int c = 0; c < dim / 16; ++c) {
      std::uint32_t high = 0, low = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int whole = __float2int_rn(elements[c][i] * in_units);
        const int digit = (whole + 128) >> 8;  // the other one is -128 to 127
        high |= (static_cast<std::uint32_t>(digit) & 0xff) << 8 * i;
        low |= (static_cast<std::uint32_t>(whole) & 0xff) << 8 * i;
      }
      cuda::ptx::compute_here(high);
      cuda::ptx::compute_here(low);
      q[c / 2][2 * (c % 2)] = high;
      q[c / 2][2 * (c % 2) + 1] = low;
    }
  }

  /// Lane l has token l's scales.
  template <class Place>
  __device__ __forceinline__ void step(const uint4* k, const uint4* v, Place place, int left,
                                       float k_scale, float v_scale) {
    const int quad = threadIdx.x % 4;
    const std::uint32_t keys = keys_address(k, place), values = values_address(v, place);
    int d[4][4] = {};
#pragma unroll
    for (int c = 0; c < dim / 32; ++c)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        std::uint32_t words[4];
        load_keys(words, keys, h, c);
        cuda::ptx::mma_s8(d[2 * h], q[c], {words[0], words[1]});
        cuda::ptx::mma_s8(d[2 * h + 1], q[c], {words[2], words[3]});
      }
    float s[4][2], p[4][2];
#pragma unroll
    for (int t = 0; t < 4; ++t)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        s[t][e] = static_cast<float>(256 * d[t][e] + d[t][2 + e]) *
                  (q_unit * __shfl_sync(kAllLanes, k_scale, 8 * t + 2 * quad + e));
    softmax.mask(s, left);
    const bool fits = softmax.weigh(s, p);
    if (__any_sync(kAllLanes, !fits || !(v_scale * units <= kLargestScale) || steps_left == 0)) {
      raise(s, v_scale);
      softmax.weigh(s, p);
    }
    --steps_left;
    softmax.add(p);

    std::uint32_t weights[4];
    whole_weights(p, v_scale * units, weights);
#pragma unroll
    for (int c = 0; c < dim / 16; ++c) {
      std::uint32_t even[2], odd[2];
      load_values(even, odd, values, c);
      cuda::ptx::mma_u8s8(sums[2 * c], weights, even);
      cuda::ptx::mma_u8s8(sums[2 * c + 1], weights, odd);
    }
  }

  __device__ __forceinline__ void finish() { softmax.finish(); }

  template <class Sum, class Stat>
  __device__ __forceinline__ void leave(Sum sum, Stat stat) const {
    const int lane = threadIdx.x % 32, quad = lane % 4, head = lane / 4;
    const float unit = 1 / units;
#pragma unroll
    for (int n = 0; n < dim / 8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        sum(head, 16 * (n / 2) + 4 * quad + 2 * e + n % 2, sum_of(n, e) * unit);
    if (quad == 0) stat(head, softmax.reference, softmax.total);
  }

 private:
  static constexpr std::uint32_t kGolden = 0x9e3779b9;  ///< golden ratio: multiples lie far apart

  __device__ __forceinline__ float sum_of(int n, int e) const {
    return 256 * static_cast<float>(sums[n][e]) + static_cast<float>(sums[n][2 + e]);
  }

  /// The left operand: high digits, low digits, the next 16 tokens'.
  __device__ __forceinline__ void whole_weights(const float (&p)[4][2], float scale,
                                                std::uint32_t (&weights)[4]) {
    const int quad = threadIdx.x % 4;
    threshold += kGolden;
    const float one_to_two = __uint_as_float(0x3f800000 | threshold >> 9);
    std::uint32_t pairs[4];  // of 16 bits
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      std::uint32_t whole[2];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float of_token = __shfl_sync(kAllLanes, scale, 8 * t + 2 * quad + e);
        // From 2^23 on a float's low bits are a whole number.
        whole[e] = __float_as_uint(__fadd_rd(fmaf(p[t][e], of_token, one_to_two), 0x1p23f - 1));
      }
      pairs[t] = __byte_perm(whole[0], whole[1], 0x5410);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      weights[2 * i] = __byte_perm(pairs[2 * i], pairs[2 * i + 1], 0x7531);
      weights[2 * i + 1] = __byte_perm(pairs[2 * i], pairs[2 * i + 1], 0x6420);
    }
  }

  /// Raises what must be, references or the unit, and brings the sums there.
  __device__ __forceinline__ void raise(const float (&s)[4][2], float v_scale) {
    bool crowded = false;
#pragma unroll
    for (int n = 0; n < dim / 8; ++n)
#pragma unroll
      for (int r = 0; r < 4; ++r) crowded |= sums[n][r] + (1 << 30) < 0 || sums[n][r] >= 1 << 30;
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
      v_scale = fmaxf(v_scale, __shfl_xor_sync(kAllLanes, v_scale, other));
    const float before = units;
    if (!(v_scale * units <= kLargestScale))
      units = kLargestScale / fmaxf(kScaleRoom * v_scale, 1e-30f);
    if (__any_sync(kAllLanes, crowded)) units = fminf(units, before / 2);
    steps_left = kMostSteps;
    const float keep = softmax.raise(s) * (units / before);
#pragma unroll
    for (int n = 0; n < dim / 8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float sum = sum_of(n, e) * keep, high = rintf(sum / 256);
        sums[n][e] = __float2int_rn(high);
        sums[n][2 + e] = __float2int_rn(fmaf(high, -256, sum));
      }
  }
};

}  // namespace kernels::attention
