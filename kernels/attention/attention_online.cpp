// Idea: one pass over the tokens: a running maximum, and everything so far rescaled when it rises.
// Bound: scalar multiply-adds, as before.
// Gains over scalar: no buffer of scores, K and V of a token read together; not the arithmetic.
#include <cmath>

#include "kernels/attention/attention_rows.hpp"

namespace kernels::attention {
namespace {

template <class T>
SCALAR void attend(const Args<T>& a) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(a.head_dim));
#pragma omp parallel for num_threads(a.threads)
  for (std::int64_t head = 0; head < a.batch * a.heads; ++head) {
    const std::int64_t b = head / a.heads, kv_head = head % a.heads / (a.heads / a.kv_heads);
    const float* q = a.q + head * a.head_dim;
    float* out = a.out + head * a.head_dim;
    float max = -INFINITY, sum = 0;
    for (std::int64_t d = 0; d < a.head_dim; ++d) out[d] = 0;
    for (std::int64_t t = 0; t < a.context; ++t) {
      const std::int64_t row = row_of(a, b, kv_head, t);
      float s = score(q, a.k + row * a.head_dim, a.head_dim) * scale;
      if (a.k_scale) s *= a.k_scale[row];
      if (s > max) {
        const float rescale = std::exp(max - s);
        max = s;
        sum *= rescale;
        NO_VECTORS
        for (std::int64_t d = 0; d < a.head_dim; ++d) out[d] *= rescale;
      }
      const float p = std::exp(s - max);
      sum += p;
      add_row(out, a.v_scale ? p * a.v_scale[row] : p, a.v + row * a.head_dim, a.head_dim);
    }
    NO_VECTORS
    for (std::int64_t d = 0; d < a.head_dim; ++d) out[d] /= sum;
  }
}

}  // namespace

extern const Kernel online = {.exec_unit = "scalar",
                              .f32 = attend<float>,
                              .bf16 = attend<bf16>,
                              .s8 = attend<std::int8_t>,
                              .any_head_dim = true,
                              .by_head = true,
                              .naive = true};

}  // namespace kernels::attention
