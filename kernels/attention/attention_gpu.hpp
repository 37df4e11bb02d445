// attention on a GPU: the contract of its variants. Cache, table and scales lie as in
// attention.hpp.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cuda/types.hpp"

namespace kernels::attention {

/// Device memory, 256-byte aligned. The cache is a pool of pages [page][kv_head][token][head_dim];
/// contiguous is one page of `context` tokens a sequence, in order.
struct GpuArguments {
  int batch, context, heads, kv_heads;
  const std::int32_t* lengths;  ///< [batch], at most `context`; null: all have that many tokens
  int page_tokens, sequence_pages;
  const std::int32_t* table;  ///< [batch][sequence_pages]; null: in order
  const float* q;             ///< [batch][heads][head_dim]
  const void *k, *v;
  const float *k_scale, *v_scale;  ///< int8 only, else null
  float* out;                      ///< [batch][heads][head_dim]
  int chunk, chunks;  ///< tokens of a piece of work, pieces of a context; long_pieces()
  /// Of every (batch, head, chunk): the weighted sum of V, and apart from it maximum and sum. The
  /// maximum is in units of log2. Sizes: partial_floats().
  float* partial_sums;
  float2* partial_stats;
  /// [batch * heads + 1], the last for a queue; zero before the first call and after each.
  unsigned* finished = nullptr;
  const void* state = nullptr;  ///< what the variant's open() made for this cache
};

/// Fewer pieces than it takes for a context mean that the first ones have kLongPiece times the
/// tokens: how many of them.
constexpr int kLongPiece = 4;
KERNELS_HD constexpr int long_pieces(const GpuArguments& a) {
  return ((a.context + a.chunk - 1) / a.chunk - a.chunks) / (kLongPiece - 1);
}
/// First token of a piece of which the first `longs` are long; piece `chunks` would begin at or
/// beyond the context's end.
KERNELS_HD constexpr int piece_begin(const GpuArguments& a, int longs, int piece) {
  return a.chunk * (piece + (kLongPiece - 1) * (piece < longs ? piece : longs));
}

constexpr std::int64_t partials(int batch, int heads, int chunks) {
  return std::int64_t{batch} * heads * chunks;
}

/// Enqueues one call and returns how many launches it took.
using GpuLaunch = int (*)(const GpuArguments&, cudaStream_t);

/// The two head sizes that it is made for.
struct GpuLaunches {
  GpuLaunch dim_64 = nullptr, dim_128 = nullptr;
};

/// What rounding leaves where queries of an 8-bit cache are multiplied in two terms, and weights of
/// an int8 cache too.
struct TwoTerms {
  double s8_query = 0;   ///< of an element, at most, as a share of its head's largest; 0: one term
  double s8_weight = 0;  ///< weights times scales are whole multiples of this share of the largest
};

struct GpuKernel {
  GpuLaunches f32, bf16, f16, e4m3, s8;
  bool splits = false;     ///< cuts the context into chunks
  int pieces_per_sm = 16;  ///< pieces of work that are wanted for each SM, where it does
  int queue_blocks = 0;    ///< blocks an SM that take pieces from a queue; 0: a block has one
  /// Query heads that share one read of the cache, by bytes of an element; 1: none.
  int (*shared_heads)(int element_bytes) = nullptr;
  double max_bytes = 0;  ///< largest cache that is offered; 0: any
  /// Scores and values on tensor cores in the cache's type (int8 in bf16, e4m3 in f16): queries and
  /// weights are rounded to it, but for what is in two terms.
  bool tensor_cores = false;
  TwoTerms two_terms = {};
  int page_grain = 1;  ///< pages are a multiple of so many tokens
  /// Makes what the variant keeps for a cache of `rows` rows; null: nothing. Throws
  /// cuda::Unsupported where a library does not do the case.
  std::shared_ptr<void> (*open)(const GpuArguments&, cuda::Type, std::int64_t rows,
                                std::int64_t head_dim) = nullptr;
  /// Where a library leaves its result, in the cache's type; null: in `out`. Such a library may
  /// multiply the rows of a page that hold no token by zero.
  void* (*narrow_out)(const GpuArguments&) = nullptr;
  std::string (*label)() = nullptr;  ///< further `key=value;` text; null: none
};

}  // namespace kernels::attention
