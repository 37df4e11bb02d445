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

}  // namespace kernels::attention
