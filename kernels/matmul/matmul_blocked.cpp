// Idea: a kc x nc block of Y stays in L2 while all rows of X pass over it; columns innermost, so
// that the compiler can use whatever vectors the baseline has, and four steps of K per visit of Z.
// Bound: L1 loads and stores of Z and Y, two operands for every multiply-add.
// Gains over naive: no strided walk down Y's columns; vectors of the baseline instruction set.
#include <algorithm>
#include <type_traits>

#include "kernels/matmul/matmul.hpp"

namespace kernels::matmul {
namespace {

constexpr std::int64_t kDepth = 4;  ///< steps of K for which a row of Z is loaded and stored once

/// kc x nc of Y fill half of L2, in rows of 512 so that Z's part of a row stays in L1.
Tiles tiles_of(const Plan& plan, int y_bytes) {
  const std::int64_t l2 = plan.caches.l2 > 0 ? plan.caches.l2 : std::int64_t{256} << 10;
  const std::int64_t nc = std::min<std::int64_t>(plan.shape.n, 512);
  const std::int64_t kc = std::clamp<std::int64_t>(l2 / 2 / (y_bytes * nc), kDepth, 1024);
  return {.l1 = {1, nc, kDepth}, .l2 = {1, nc, kc}, .l3 = {plan.shape.m, nc, kc}};
}

template <class Acc, class X, class Y, class Z>
void multiply(const Plan& plan, const X* x, const Y* y, const float* scales, Z* z) {
  const Shape s = plan.shape;
  const Tiles t = tiles_of(plan, sizeof(Y));
  const std::int64_t kc = t.l2.k / kDepth * kDepth, nc = t.l2.n;
  // Each thread has its rows for the whole call, so no two write the same part of Z.
#pragma omp parallel num_threads(plan.threads)
  for (std::int64_t jc = 0; jc < s.n; jc += nc) {
    const std::int64_t width = std::min(nc, s.n - jc);
    for (std::int64_t pc = 0; pc < s.k; pc += kc) {
      const std::int64_t end = std::min(pc + kc, s.k);
#pragma omp for schedule(static) nowait
      for (std::int64_t i = 0; i < s.m; ++i) {
        Z* out = z + i * s.n + jc;
        if (pc == 0) std::fill(out, out + width, Z{0});
        std::int64_t k = pc;
        for (; k + kDepth <= end; k += kDepth) {
          const X* a = x + i * s.k + k;
          const Acc a0 = static_cast<Acc>(a[0]), a1 = static_cast<Acc>(a[1]),
                    a2 = static_cast<Acc>(a[2]), a3 = static_cast<Acc>(a[3]);
          const Y* b = y + k * s.n + jc;
          for (std::int64_t j = 0; j < width; ++j)
            out[j] += a0 * static_cast<Acc>(b[j]) + a1 * static_cast<Acc>(b[s.n + j]) +
                      a2 * static_cast<Acc>(b[2 * s.n + j]) + a3 * static_cast<Acc>(b[3 * s.n + j]);
        }
        for (; k < end; ++k) {
          const Acc a = static_cast<Acc>(x[i * s.k + k]);
          for (std::int64_t j = 0; j < width; ++j)
            out[j] += a * static_cast<Acc>(y[k * s.n + jc + j]);
        }
        if constexpr (std::is_floating_point_v<Z>)
          if (scales != nullptr && end == s.k)
            for (std::int64_t j = 0; j < width; ++j) out[j] *= scales[jc + j];
      }
    }
  }
}

template <class Y>
Tiles tiles(const Plan& plan, bool) {
  return tiles_of(plan, sizeof(Y));
}

}  // namespace

extern const Kernel blocked = {
    .exec_unit = "simd-baseline",
    .f64 = {.run = multiply<double>, .tiles = tiles<double>},
    .f32 = {.run = multiply<float>, .tiles = tiles<float>},
    .bf16_f32 = {.run = multiply<float>, .tiles = tiles<bf16>},
    .s8_s32 = {.run = multiply<std::int32_t>, .tiles = tiles<std::int8_t>},
    .u8_s8 = {.run = multiply<std::int32_t>, .tiles = tiles<std::int8_t>},
    .bf16_s8 = {.run = multiply<float>, .tiles = tiles<std::int8_t>},
    .max_flops = 2.2e9};

}  // namespace kernels::matmul
