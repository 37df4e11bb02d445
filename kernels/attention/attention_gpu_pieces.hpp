// How a call of attention is cut into pieces for a GPU.
#pragma once

#include <algorithm>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/attention_gpu.hpp"

namespace kernels::attention {

/// How often a kv head's cache is fetched from L2 for the query heads that it serves.
inline std::int64_t reads_of(const GpuKernel& kernel, const Shape& s, int element_bytes) {
  const std::int64_t shared = kernel.shared_heads(element_bytes);
  return (s.heads / s.kv_heads + shared - 1) / shared;
}

/// `chunk` and `chunks` of the arguments.
struct Pieces {
  int chunk, chunks;
};
/// As many pieces as the variant wants and no more, so that those of all items run at once; none
/// with less than 64 tokens.
inline Pieces pieces_of(const GpuKernel& kernel, const Shape& s, int element_bytes, int sms) {
  if (!kernel.splits) return {static_cast<int>(s.context), 1};
  constexpr std::int64_t kSmallest = 64, kGrain = 32;
  const std::int64_t items = s.batch * s.kv_heads * reads_of(kernel, s, element_bytes);
  const std::int64_t wanted = kernel.pieces_per_sm * sms / items;
  const std::int64_t most = (s.context + kSmallest - 1) / kSmallest;
  const std::int64_t pieces = std::clamp<std::int64_t>(wanted, 1, most);
  const std::int64_t chunk = ((s.context + pieces - 1) / pieces + kGrain - 1) / kGrain * kGrain;
  return {static_cast<int>(chunk), static_cast<int>((s.context + chunk - 1) / chunk)};
}

}  // namespace kernels::attention
