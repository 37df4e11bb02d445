// A case of decode as a shape, and which steps are offered and tested.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "kernels/decode/decode.hpp"
#include "kernels/dtype.hpp"

namespace kernels::decode {

inline constexpr std::int64_t kLayers8b = 32, kVocabulary8b = 128256;

/// Throws BadInput, naming the key.
Shape shape_of(const Case& c);
/// dtype of the cache: bf16 or s8. Throws BadInput.
std::string kv_of(const Case& c);

/// The cases' names for it.
Case make_case(const char* weights, const char* kv, const Shape& s, int threads);

std::vector<Case> cases(const Caches& caches);
std::vector<Case> test_cases();

/// int8, which comes with scales.
template <class T>
constexpr bool kScaled = std::is_same_v<T, std::int8_t>;

/// Of weights W and cache C.
template <class W, class C>
constexpr ElementBytes kElement = {sizeof(W), kScaled<W> ? 4 : 0, sizeof(C), kScaled<C> ? 4 : 0};

/// Calls `with.template operator()<W, C>()` for the case's types. Throws BadInput.
template <class With>
auto dispatch(const Case& c, With with) {
  const bool scaled = kv_of(c) == "s8";
  if (c.dtype == "bf16")
    return scaled ? with.template operator()<bf16, std::int8_t>()
                  : with.template operator()<bf16, bf16>();
  if (c.dtype == "bf16xs8")
    return scaled ? with.template operator()<std::int8_t, std::int8_t>()
                  : with.template operator()<std::int8_t, bf16>();
  throw BadInput("decode: dtype '" + c.dtype + "' (known: bf16, bf16xs8)");
}

}  // namespace kernels::decode
