// Idea: the matmul for few rows and the attention that run on tensor cores; norms are one launch
// with the residual before them.
// Bound: HBM, by weights and KV cache; at short contexts the eleven launches of a layer.
// The first rung. Below it there is only the CPU.
#include "kernels/cuda/check.hpp"
#include "kernels/decode/decode.hpp"
#include "kernels/decode/decode_gpu.hpp"

namespace kernels::decode {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kAllLanes = 0xffffffffu;

unsigned blocks_for(std::int64_t n) { return static_cast<unsigned>((n + kThreads - 1) / kThreads); }

/// `join` of all threads' values, for every thread. `parts` has a place for each warp.
template <class Join>
__device__ __forceinline__ float over_block(float value, float* parts, Join join) {
#pragma unroll
  for (int other = 16; other > 0; other /= 2)
    value = join(value, __shfl_xor_sync(kAllLanes, value, other));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x) / 32;
  value = parts[0];
  for (int w = 1; w < warps; ++w) value = join(value, parts[w]);
  return value;
}

/// A block a row; a thread reads back only what it wrote itself.
__global__ void __launch_bounds__(kThreads)
    add_normalise_kernel(float* x, const float* update, std::int64_t n, bf16* out) {
  __shared__ float parts[kThreads / 32];
  const std::int64_t row = std::int64_t{blockIdx.x} * n;
  float squares = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += kThreads) {
    float value = x[row + i];
    if (update != nullptr) x[row + i] = value += update[row + i];
    squares += value * value;
  }
  if (out == nullptr) return;
  const float sum = over_block(squares, parts, [](float a, float b) { return a + b; });
  const float factor = 1 / sqrtf(sum / static_cast<float>(n) + kNormEpsilon);
  for (std::int64_t i = threadIdx.x; i < n; i += kThreads) out[row + i] = bf16(x[row + i] * factor);
}

void add_normalise(float* x, const float* update, std::int64_t rows, std::int64_t n, bf16* out,
                   cudaStream_t stream) {
  add_normalise_kernel<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(x, update, n, out);
  CUDA_CHECK_LAUNCH("add and normalise");
}

/// A block a head of q, k or v of a sequence, a thread an element.
template <class T>
__global__ void store_kernel(NewToken a) {
  __shared__ float parts[32];
  const int head = blockIdx.x, sequence = blockIdx.y, d = threadIdx.x, h = a.head_dim;
  const float value = a.qkv[(std::int64_t{sequence} * (a.heads + 2 * a.kv_heads) + head) * h + d];
  if (head < a.heads) {
    a.q[(std::int64_t{sequence} * a.heads + head) * h + d] = value;
    return;
  }
  const bool is_v = head >= a.heads + a.kv_heads;
  const int kv_head = head - a.heads - (is_v ? a.kv_heads : 0);
  const std::int64_t row = (std::int64_t{sequence} * a.kv_heads + kv_head + 1) * a.context - 1;
  T* out = static_cast<T*>(is_v ? a.v : a.k) + row * h + d;
  if constexpr (sizeof(T) == 2) {
    *out = bf16(value);
  } else {
    const float most =
        over_block(fabsf(value), parts, [](float x, float y) { return fmaxf(x, y); });
    const float scale = most > 0 ? most / 127 : 1;
    *out = static_cast<T>(rintf(value * (1 / scale)));
    if (d == 0) (is_v ? a.v_scale : a.k_scale)[row] = scale;
  }
}

template <class T>
void store(const NewToken& a, cudaStream_t stream) {
  const dim3 blocks(a.heads + 2 * a.kv_heads, a.batch);
  store_kernel<T><<<blocks, a.head_dim, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("new token");
}

__global__ void narrow_kernel(const float* x, std::int64_t n, bf16* out) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) out[i] = bf16(x[i]);
}

void narrow(const float* x, std::int64_t n, bf16* out, cudaStream_t stream) {
  narrow_kernel<<<blocks_for(n), kThreads, 0, stream>>>(x, n, out);
  CUDA_CHECK_LAUNCH("narrow");
}

__global__ void gate_kernel(const float* both, std::int64_t n, bf16* out) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x, row = blockIdx.y;
  if (i >= n) return;
  const float gate = both[row * 2 * n + i], up = both[row * 2 * n + n + i];
  out[row * n + i] = bf16(gate / (1 + expf(-gate)) * up);
}

void gate(const float* both, std::int64_t rows, std::int64_t n, bf16* out, cudaStream_t stream) {
  const dim3 blocks(blocks_for(n), static_cast<unsigned>(rows));
  gate_kernel<<<blocks, kThreads, 0, stream>>>(both, n, out);
  CUDA_CHECK_LAUNCH("gate");
}

}  // namespace

extern const GpuKernel sm80_mma = {.matmul = "sm80_skinny",
                                   .attention_bf16 = "sm80_v4_mma",
                                   .attention_s8 = "sm80_v4_mma",
                                   .glue = {.add_normalise = add_normalise,
                                            .store_bf16 = store<bf16>,
                                            .store_s8 = store<std::int8_t>,
                                            .narrow = narrow,
                                            .gate = gate}};

}  // namespace kernels::decode
