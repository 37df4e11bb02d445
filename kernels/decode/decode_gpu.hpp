// decode on a GPU: the contract of its variants. The matmuls and the attention of a step are
// registered kernels; what lies between them is the variant's own.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/dtype.hpp"

namespace kernels::decode {

/// Sizes that the kernels take: whole 16-byte chunks in each row, so that rows lie one behind the
/// other. Shape's d_model, d_ff and vocabulary are multiples of it.
inline constexpr std::int64_t kGpuGrain = 16;

/// The rows of q, k and v of the new token, fp32 [batch][(heads + 2 kv_heads) * head_dim], on their
/// way: q to [batch][heads][head_dim], k and v into the last token of the cache,
/// [batch][kv_head][token][head_dim], as bf16 or as int8 with a scale a row.
struct NewToken {
  const float* qkv;
  float* q;
  void *k, *v;
  float *k_scale, *v_scale;  ///< int8 only, else null
  int batch, context, heads, kv_heads, head_dim;
};

/// Each member enqueues one launch. Device memory, rows one behind the other.
struct GpuGlue {
  /// x += update, unless that is null; out = x / rms(x), unless that is null. Rows of `n`.
  void (*add_normalise)(float* x, const float* update, std::int64_t rows, std::int64_t n, bf16* out,
                        cudaStream_t);
  void (*store_bf16)(const NewToken&, cudaStream_t);
  void (*store_s8)(const NewToken&, cudaStream_t);
  void (*narrow)(const float* x, std::int64_t n, bf16* out, cudaStream_t);
  /// out[row][i] = silu(both[row][i]) * both[row][n + i].
  void (*gate)(const float* both, std::int64_t rows, std::int64_t n, bf16* out, cudaStream_t);
};

struct GpuKernel {
  const char* matmul;  ///< registered; int8 weights are stored transposed for it
  const char *attention_bf16, *attention_s8;
  GpuGlue glue;
};

}  // namespace kernels::decode
