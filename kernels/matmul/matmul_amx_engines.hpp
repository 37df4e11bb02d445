// Engines of the matmul on AMX tiles (matmul_amx.hpp): what one dtype does in a step of 64 bytes of
// K, and what a panel of Y is.
#pragma once

#include <cstring>

#include "kernels/matmul/matmul_avx512_bf16.hpp"
#include "kernels/matmul/matmul_avx512_vnni.hpp"
#include "kernels/simd/amx.hpp"

namespace kernels::matmul {
namespace {

constexpr int kSide = 32, kHalf = Amx::kRows;    ///< columns of a panel and most rows; of a tile
constexpr int kGroupBytes = 2 * Amx::kRowBytes;  ///< what one sum takes of K, for all columns
constexpr int kStepBytes = kHalf * kGroupBytes;  ///< 64 bytes of K, for all columns
constexpr int kStepLines = kStepBytes / 64;
constexpr int kDepth = 16;  ///< steps of a panel: 32 KB, to stay in L1
/// Bytes by which lines of weights that are read once are asked for, and empty instructions behind
/// each (see Paced). bf16, M = 1 to 32: 6 KB and four are 1 to 6 % slower. NOTES.md, "AMX: how far
/// ahead".
constexpr int kAhead = 10240, kPauseAhead = 12;

template <class YT>
struct Bf16Tiles : Bf16Engine<YT> {
  using Held = YT;  ///< element of weights packed before
  static void product_04() { _tile_dpbf16ps(0, 6, 4); }
  static void product_15() { _tile_dpbf16ps(1, 6, 5); }
  static void product_24() { _tile_dpbf16ps(2, 7, 4); }
  static void product_35() { _tile_dpbf16ps(3, 7, 5); }
};

/// Weights packed before stay bytes, two rows of 32 a group, and are widened as they are used.
struct Bf16Int8Tiles : Bf16Tiles<std::int8_t> {
  static void hold(const Y* y, std::int64_t ldy, Held* out) {
    std::memcpy(out, y, kSide);
    std::memcpy(out + kSide, y + ldy, kSide);
  }
  /// One step.
  static void widen(const Held* held, Yp* out) {
#pragma GCC unroll 4
    for (int g = 0; g < kHalf; ++g, held += 2 * kSide) {
      __builtin_prefetch(held + kAhead, 0, 2);
      for (int half = 0; half < kSide; half += kHalf, out += 2 * kHalf)
        _mm512_storeu_ps(out, widened_pairs(held + half, held + kSide + half));
    }
  }
};

struct Int8Unsigned : Int8Vnni<std::uint8_t> {
  using Held = Y;
  static void product_04() { _tile_dpbusd(0, 6, 4); }
  static void product_15() { _tile_dpbusd(1, 6, 5); }
  static void product_24() { _tile_dpbusd(2, 7, 4); }
  static void product_35() { _tile_dpbusd(3, 7, 5); }
};

/// Signed times signed as they are: nothing is shifted, and no panel needs a header.
struct Int8Signed : Int8Vnni<std::uint8_t> {
  using X = std::int8_t;
  using Held = Y;
  static void product_04() { _tile_dpbssd(0, 6, 4); }
  static void product_15() { _tile_dpbssd(1, 6, 5); }
  static void product_24() { _tile_dpbssd(2, 7, 4); }
  static void product_35() { _tile_dpbssd(3, 7, 5); }
};

}  // namespace
}  // namespace kernels::matmul
