// Idea: eight independent scalar accumulators, so that adds overlap.
// Bound: scalar issue; one element a load pair.
// Gains over scalar: the add's latency times its throughput, about 4 to 8 times in cache.
#include <type_traits>

#include "kernels/dot/dot.hpp"

namespace kernels::dot {
namespace {

template <class Acc, class T>
Acc loop(const T* x, const T* y, std::int64_t n) {
  constexpr int kChains = 8;
  Acc sum[kChains] = {};
  std::int64_t i = 0;
#if defined(__clang__)
#pragma clang loop vectorize(disable)
#endif
  for (; i + kChains <= n; i += kChains)
    for (int c = 0; c < kChains; ++c) {
      Acc product = static_cast<Acc>(x[i + c]) * static_cast<Acc>(y[i + c]);
#if defined(__x86_64__)
      if constexpr (!std::is_integral_v<Acc>) asm("" : "+x"(product));  // keeps it out of SIMD
#endif
      sum[c] += product;
    }
  for (; i < n; ++i) sum[0] += static_cast<Acc>(x[i]) * static_cast<Acc>(y[i]);
  Acc total = 0;
  for (const Acc s : sum) total += s;
  return total;
}

}  // namespace

extern const Kernel unrolled = {.exec_unit = "scalar",
                                .f64 = loop<double>,
                                .f32 = loop<float>,
                                .bf16 = loop<float>,
                                .s8 = loop<std::int64_t>};

}  // namespace kernels::dot
