// Idea: the textbook triple loop, a dot product for every entry; rows spread over the threads.
// Bound: one column step of Y a product, a new cache line each: latency of L1, then L2.
// Below it: nothing; it is what the other rungs are measured against.
#include "kernels/matmul/matmul.hpp"

namespace kernels::matmul {
namespace {

template <class Acc, class X, class Y, class Z>
void multiply(const Plan& plan, const X* x, const Y* y, const float* scales, Z* z) {
  const Shape s = plan.shape;
#pragma omp parallel for num_threads(plan.threads) schedule(dynamic)
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) {
      Acc sum = 0;
      for (std::int64_t k = 0; k < s.k; ++k)
        sum += static_cast<Acc>(x[i * s.k + k]) * static_cast<Acc>(y[k * s.n + j]);
      z[i * s.n + j] = scales != nullptr ? static_cast<Z>(sum * scales[j]) : sum;
    }
}

Tiles tiles(const Plan& plan, bool) { return {.l1 = {1, 1, plan.shape.k}}; }

}  // namespace

extern const Kernel naive = {.exec_unit = "scalar",
                             .f64 = {.run = multiply<double>, .tiles = tiles},
                             .f32 = {.run = multiply<float>, .tiles = tiles},
                             .bf16_f32 = {.run = multiply<float>, .tiles = tiles},
                             .s8_s32 = {.run = multiply<std::int32_t>, .tiles = tiles},
                             .u8_s8 = {.run = multiply<std::int32_t>, .tiles = tiles},
                             .bf16_s8 = {.run = multiply<float>, .tiles = tiles},
                             .max_flops = 3e8};

}  // namespace kernels::matmul
