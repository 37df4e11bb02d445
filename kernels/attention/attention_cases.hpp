// A case of attention as a shape; both devices read it from here.
#pragma once

#include "kernels/attention/attention.hpp"

namespace kernels::attention {

inline constexpr std::int64_t kPage = 16;  ///< tokens a page where a case does not say

/// Throws BadInput, naming the key.
Shape shape_of(const Case& c);

/// The cases' names for it.
Case make_case(const char* dtype, const Shape& s, const char* temp, int threads);

/// Tokens of a sequence: the context, or where they are ragged the context for the first one and
/// anything from 1 to the context for the others.
std::int64_t length_of(const Shape& s, std::int64_t sequence);

/// How one copy of the cache lies in memory.
struct Pool {
  std::int64_t page_tokens, sequence_pages;
  /// Of head_dim values, of K or of V. Of a shape that no memory holds it may be beyond 64 bits.
  constexpr std::int64_t rows(const Shape& s) const {
    return s.batch * sequence_pages * s.kv_heads * page_tokens;
  }
};
constexpr Pool pool_of(const Shape& s) {
  const std::int64_t page_tokens = s.page > 0 ? s.page : s.context;
  return {page_tokens, (s.context + page_tokens - 1) / page_tokens};
}

}  // namespace kernels::attention
