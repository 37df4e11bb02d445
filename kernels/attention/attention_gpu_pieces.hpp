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

/// Tokens of 64 KB of K and V: what a block of a queue has in less time, its joining would bind.
inline std::int64_t queue_grain(const Shape& s, int element_bytes) {
  return (64 << 10) / (2 * s.head_dim * element_bytes);
}

/// For blocks that have `share` tokens each: short pieces of one or two grains for the last part of
/// it, four of them a block, and long ones before. Contexts too short for long ones are whole
/// where a block has four or more.
inline Pieces queued_pieces(std::int64_t context, std::int64_t share, std::int64_t grain) {
  constexpr std::int64_t kShorts = 4;
  const std::int64_t chunk =
      std::clamp(share / 16 / grain, std::int64_t{1}, std::int64_t{2}) * grain;
  const std::int64_t short_tokens = context * kShorts * chunk / share;
  const std::int64_t longs = (context - short_tokens) / (kLongPiece * chunk);
  if (longs == 0 && share >= 4 * context) return {static_cast<int>(context), 1};
  const std::int64_t left = context - longs * kLongPiece * chunk;
  return {static_cast<int>(chunk), static_cast<int>(longs + (left + chunk - 1) / chunk)};
}

/// As many pieces as the variant wants and no more, so that those of all items run at once; none
/// with less than 64 tokens. Several for each block where it has a queue and work enough.
inline Pieces pieces_of(const GpuKernel& kernel, const Shape& s, int element_bytes, int sms) {
  if (!kernel.splits) return {static_cast<int>(s.context), 1};
  constexpr std::int64_t kSmallest = 64, kGrain = 32;
  const std::int64_t items = s.batch * s.kv_heads * reads_of(kernel, s, element_bytes);
  const std::int64_t places = std::int64_t{kernel.queue_blocks} * sms;
  const std::int64_t grain = queue_grain(s, element_bytes);
  if (places > 0 && items * s.context >= 8 * grain * places)
    return queued_pieces(s.context, items * s.context / places, grain);
  const std::int64_t wanted = kernel.pieces_per_sm * sms / items;
  const std::int64_t most = (s.context + kSmallest - 1) / kSmallest;
  const std::int64_t pieces = std::clamp<std::int64_t>(wanted, 1, most);
  const std::int64_t chunk = ((s.context + pieces - 1) / pieces + kGrain - 1) / kGrain * kGrain;
  return {static_cast<int>(chunk), static_cast<int>((s.context + chunk - 1) / chunk)};
}

}  // namespace kernels::attention
