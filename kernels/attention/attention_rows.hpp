// The scalar rungs' steps, kept out of the compiler's vectoriser so that they stay what they say.
#pragma once

#include "kernels/attention/attention.hpp"

#if defined(__clang__)
#define SCALAR
#define NO_VECTORS _Pragma("clang loop vectorize(disable) interleave(disable)")
#else
#define SCALAR __attribute__((optimize("no-tree-vectorize")))
#define NO_VECTORS
#endif

namespace kernels::attention {
namespace {

/// Row of the pool (head_dim values, one scale) that holds a token of a sequence's kv head.
template <class T>
std::int64_t row_of(const Args<T>& a, std::int64_t b, std::int64_t kv_head, std::int64_t token) {
  const std::int64_t at = b * a.sequence_pages + token / a.page_tokens;
  const std::int64_t page = a.table ? a.table[at] : at;
  return (page * a.kv_heads + kv_head) * a.page_tokens + token % a.page_tokens;
}

template <class T>
SCALAR float score(const float* q, const T* k, std::int64_t n) {
  float sum = 0;
  NO_VECTORS
  for (std::int64_t d = 0; d < n; ++d) sum += q[d] * static_cast<float>(k[d]);
  return sum;
}

template <class T>
SCALAR void add_row(float* out, float weight, const T* v, std::int64_t n) {
  NO_VECTORS
  for (std::int64_t d = 0; d < n; ++d) out[d] += weight * static_cast<float>(v[d]);
}

}  // namespace
}  // namespace kernels::attention
