// Idea: up to 16 query heads of a group are the rows of mma.sync: one read of the cache through a
// cp.async ring serves scores and values of all of them on tensor cores.
// Bound: HBM: 16 rows cost 32 FLOP an element of the cache, a tenth of what mma.sync could do.
// Gains over v3: the multiply-adds leave the CUDA cores: on an H200 in bf16 1.6 for one sequence of
// 8192 tokens, 2.5 for 32, 9 with groups of 16; 0.87 to 0.97 of HBM's read roof with 32 sequences,
// 0.71 in e4m3 and 0.55 in int8, whose conversions bind.
#include "kernels/attention/attention_mma.cuh"

namespace kernels::attention {
namespace {

namespace ptx = kernels::cuda::ptx;

constexpr int kWarps = 2;   ///< a block; each has a ring and a piece of work of its own
constexpr int kStages = 3;  ///< two on their way while one is used
constexpr int kStageBytes = 4096;
constexpr int kChunks = kStageBytes / 16;  ///< of 16 bytes

struct Ring {
  uint4 k[kStages][kChunks], v[kStages][kChunks];
};
static_assert(kWarps * sizeof(Ring) <= 48 << 10, "static shared memory");

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
  constexpr bool kScaled = MmaHeads<T, dim>::kScaled;
  static_assert(kTokens % kMmaTokens == 0, "a stage is whole steps");
  static_assert(kRowChunks % 4 == 0, "the swizzle stays in its row");
  __shared__ Ring rings[kWarps];
  Ring& ring = rings[threadIdx.x / 32];
  const int lane = threadIdx.x % 32, number = blockIdx.y * kWarps + threadIdx.x / 32;
  if (number >= mma_items(a)) return;
  const int chunk = blockIdx.x;
  const MmaItem item(a, number, chunk);
  const int end = item.end;
  MmaHeads<T, dim> heads;
  heads.load_queries(a, item);

  const auto load = [&](int first, int stage) {
    if (first < end) {
#pragma unroll
      for (int i = 0; i < kChunks / 32; ++i) {
        const int token = (lane + 32 * i) / kRowChunks, c = (lane + 32 * i) % kRowChunks;
        const int valid = first + token < end ? 16 : 0;
        const std::int64_t from =
            row_of(a, item.sequence, item.kv_head, min(first + token, end - 1)) * kRowChunks + c;
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
        const std::int64_t at =
            row_of(a, item.sequence, item.kv_head, min(first + 32 * i + lane, end - 1));
        next_k_scale[i] = a.k_scale[at];
        next_v_scale[i] = a.v_scale[at];
      }
    }
  };
  const auto scale_of = [&](const float(&scales)[kScales], int token) {
    const float mine = token < 32 ? scales[0] : scales[kScales - 1];
    return __shfl_sync(kAllLanes, mine, token % 32);
  };

#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) load(item.begin + s * kTokens, s);
  load_scales(item.begin);
  int stage = 0;
#pragma unroll 1
  for (int first = item.begin; first < end; first += kTokens) {
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
    for (int sub = 0; sub < kTokens && first + sub < end; sub += kMmaTokens)
      heads.step(
          ring.k[stage] + sub * kRowChunks, ring.v[stage] + sub * kRowChunks,
          [](int row, int c) { return place<kRowChunks>(row, c); }, end - first - sub,
          [&](int token) { return scale_of(k_scale, sub + token); },
          [&](int token) { return scale_of(v_scale, sub + token); });
    stage = stage == kStages - 1 ? 0 : stage + 1;
  }
  ptx::copy_async_wait<0>();

  heads.finish();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int head = lane / 4 + 8 * half;
    if (head >= item.heads) continue;
    const std::int64_t slot = std::int64_t{item.first_head + head} * a.chunks + chunk;
#pragma unroll
    for (int n = 0; n < dim / 8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        a.partial_sums[slot * dim + heads.dimension_of(n, e)] = heads.out[n][2 * half + e];
    if (lane % 4 == 0) a.partial_stats[slot] = {heads.max[half], heads.total[half]};
  }
}

/// Two launches: the chunks, their combination.
template <class T, int dim>
int launch(const GpuArguments& a, cudaStream_t stream) {
  const dim3 blocks(a.chunks, (mma_items(a) + kWarps - 1) / kWarps);
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
                                      .shared_heads = [](int) { return kMmaHeads; },
                                      .tensor_cores = true};

}  // namespace kernels::attention
