// Idea: the textbook loop, one accumulator and no vectors.
// Bound: the latency of one add (FP: 3 or 4 cycles an element), far below any roof.
// Below it: nothing; it is what the other rungs are measured against.
#include "kernels/dot/dot.hpp"

namespace kernels::dot {
namespace {

template <class Acc, class T>
#if defined(__clang__)
#define NO_SIMD
#else
#define NO_SIMD __attribute__((optimize("no-tree-vectorize")))
#endif
NO_SIMD Acc loop(const T* x, const T* y, std::int64_t n) {
  Acc sum = 0;
#if defined(__clang__)
#pragma clang loop vectorize(disable) interleave(disable)
#endif
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<Acc>(x[i]) * static_cast<Acc>(y[i]);
  return sum;
}

}  // namespace

extern const Kernel scalar = {.exec_unit = "scalar",
                              .f64 = loop<double>,
                              .f32 = loop<float>,
                              .bf16 = loop<float>,
                              .s8 = loop<std::int64_t>};

}  // namespace kernels::dot
