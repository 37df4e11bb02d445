// AVX-VNNI: vpdpbusd on 256-bit vectors, for cores without AVX-512.
#pragma once

#include "kernels/simd/avx2.hpp"

namespace kernels {
namespace {

struct AvxVnni {
  static constexpr const char* kUnit = "simd-avx-vnni";

  /// acc + the products of four unsigned bytes of `u` and four signed ones of `s` in every lane.
  static __m256i dot(__m256i acc, __m256i u, __m256i s) {
    return _mm256_dpbusd_avx_epi32(acc, u, s);
  }
};

}  // namespace
}  // namespace kernels
