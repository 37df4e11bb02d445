// Idea: the textbook: all scores of a head, their maximum, exponentials, then the weighted values.
// Bound: scalar multiply-adds; the scores (4 bytes a token) go through memory between the passes.
// Below it: nothing; it is what the other rungs are measured against.
#include <omp.h>

#include <cmath>

#include "kernels/attention/attention_rows.hpp"

namespace kernels::attention {
namespace {

template <class T>
SCALAR void attend(const Args<T>& a) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(a.head_dim));
#pragma omp parallel num_threads(a.threads)
  {
    float* p = a.scratch + omp_get_thread_num() * a.context;
#pragma omp for
    for (std::int64_t head = 0; head < a.batch * a.heads; ++head) {
      const std::int64_t b = head / a.heads, kv_head = head % a.heads / (a.heads / a.kv_heads);
      const float* q = a.q + head * a.head_dim;
      float* out = a.out + head * a.head_dim;
      float max = -INFINITY;
      NO_VECTORS
      for (std::int64_t t = 0; t < a.context; ++t) {
        const std::int64_t row = row_of(a, b, kv_head, t);
        p[t] = score(q, a.k + row * a.head_dim, a.head_dim) * scale;
        if (a.k_scale) p[t] *= a.k_scale[row];
        max = p[t] > max ? p[t] : max;
      }
      float sum = 0;
      NO_VECTORS
      for (std::int64_t t = 0; t < a.context; ++t) sum += p[t] = std::exp(p[t] - max);
      for (std::int64_t d = 0; d < a.head_dim; ++d) out[d] = 0;
      for (std::int64_t t = 0; t < a.context; ++t) {
        const std::int64_t row = row_of(a, b, kv_head, t);
        const float weight = p[t] / sum * (a.v_scale ? a.v_scale[row] : 1.0f);
        add_row(out, weight, a.v + row * a.head_dim, a.head_dim);
      }
    }
  }
}

}  // namespace

extern const Kernel scalar = {.exec_unit = "scalar",
                              .f32 = attend<float>,
                              .bf16 = attend<bf16>,
                              .s8 = attend<std::int8_t>,
                              .any_head_dim = true,
                              .by_head = true,
                              .naive = true};

}  // namespace kernels::attention
