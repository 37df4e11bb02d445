// The loop over pages, written once over a vector type.
#pragma once

#include <bit>

#include "kernels/pages/pages.hpp"

namespace kernels::pages {
namespace {

/// kSideBySide pages at a time, a piece of four lines of each in turns; the lines `kIntoL2` bytes
/// on are asked for into L2 (0: none) and those `kIntoL1` bytes on into L1, in the pages that
/// follow where this one ends before.
template <class F, std::int64_t kIntoL2, std::int64_t kIntoL1>
std::uint32_t read(const float* const* pages, std::int64_t count, std::int64_t floats) {
  constexpr std::int64_t kLine = 64 / sizeof(float), kPiece = 4 * kLine;
  constexpr std::int64_t kSecond = kIntoL2 / static_cast<std::int64_t>(sizeof(float)),
                         kFirst = kIntoL1 / static_cast<std::int64_t>(sizeof(float));
  static_assert(kIntoL2 <= kFarthest && kIntoL1 <= kFarthest);
  const int shift = std::countr_zero(static_cast<std::uint64_t>(floats));
  typename F::V all[kSideBySide];
  for (auto& v : all) v = F::zero();
  for (std::int64_t i = 0; i < count; i += kSideBySide)
    for (std::int64_t at = 0; at < floats; at += kPiece)
#pragma GCC unroll 4
      for (std::int64_t side = 0; side < kSideBySide; ++side) {
        const auto later = [&](std::int64_t ahead) {
          return pages[i + side + ((at + ahead) >> shift) * kSideBySide] +
                 ((at + ahead) & (floats - 1));
        };
        const float* const into_l2 = later(kSecond);
        const float* const into_l1 = later(kFirst);
        const float* const now = pages[i + side] + at;
#pragma GCC unroll 4
        for (std::int64_t line = 0; line < kPiece; line += kLine) {
          if constexpr (kIntoL2 > 0) __builtin_prefetch(into_l2 + line, 0, 2);
          __builtin_prefetch(into_l1 + line, 0, 3);
        }
#pragma GCC unroll 8
        for (std::int64_t v = 0; v < kPiece; v += 2 * F::kWidth)
          all[side] = F::exclusive_or(all[side], F::load(now + v), F::load(now + v + F::kWidth));
      }
  const typename F::V none = F::zero();
  typename F::V last = none;
  for (const auto& v : all) last = F::exclusive_or(last, v, none);
  float lanes[F::kWidth];
  F::store(lanes, last);
  std::uint32_t bits = 0;
  for (const float lane : lanes) bits ^= std::bit_cast<std::uint32_t>(lane);
  return bits;
}

/// Lines asked for into L2 and then into L1.
template <class F>
constexpr Kernel by_l2_of(const char* exec_unit) {
  return {.exec_unit = exec_unit, .read = read<F, 4096, 1024>};
}
/// Lines asked for into L1 only.
template <class F>
constexpr Kernel into_l1_of(const char* exec_unit) {
  return {.exec_unit = exec_unit, .read = read<F, 0, 2048>};
}

}  // namespace
}  // namespace kernels::pages
