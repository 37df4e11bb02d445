#include "roofline/predict/operation.hpp"

#include <cmath>

#include "roofline/base/error.hpp"

namespace roofline::predict {
namespace {

Prediction from_cost(const Cost& cost, const Roofs& roofs, const Given& given) {
  need_finite_time(cost.flops >= 0 && std::isfinite(cost.flops) && cost.bytes >= 0 &&
                   std::isfinite(cost.bytes));
  const Bounds b = bounds({.flops = cost.flops,
                           .peak_flops_per_s = roofs.peak,
                           .levels = {{roofs.level, cost.bytes, roofs.bandwidth}},
                           .launch_s = roofs.launch_s});
  Prediction out{.flops = cost.flops,
                 .bytes = cost.bytes,
                 .intensity = cost.intensity(),
                 .ridge_intensity = ridge_intensity(roofs.peak, roofs.bandwidth),
                 .t_math_s = b.t_math,
                 .t_comms_s = b.t_levels.front(),
                 .t_launch_s = b.t_launch,
                 .t_lower_s = b.t_lower,
                 .t_upper_s = b.t_upper,
                 .bound = b.bound};
  if (!std::isnan(given.step_s)) out.t_lower_s = out.t_upper_s = given.step_s;
  out.attainable_flops_per_s = out.flops / out.t_lower_s;
  need_finite_time(std::isfinite(out.t_upper_s) && out.t_lower_s > 0);
  return out;
}

/// Times that Y is loaded: once per row of tiles.
double loads_of_y(const Matmul& work) {
  return work.tile ? static_cast<double>((work.b - 1) / work.tile->m + 1) : 1;
}

Cost cost_of(const Matmul& work, double y_elements, double params) {
  Cost cost = work.batched ? batched_matmul_cost(work.b, work.d, work.f, work.element)
                           : matmul_cost(work.b, work.d, work.f, work.element);
  if (work.tile) {
    cost.bytes =
        tiled_matmul_bytes(work.b, work.f, work.d, *work.tile, work.element, work.output_read);
  }
  cost.flops *= params / y_elements;
  cost.bytes += work.element.y * loads_of_y(work) * (params - y_elements);
  return cost;
}

}  // namespace

void need_finite_time(bool holds) {
  if (holds) return;
  throw BadInput(
      "the shape, --params, --peak or --bandwidth is out of range: the time is not a finite "
      "number");
}

Prediction predict(const Matmul& work, const Roofs& roofs, const Given& given) {
  if (work.batched && work.tile) throw BadInput("a batched matmul has no tiles to reuse Y in");
  const double d = static_cast<double>(work.d), f = static_cast<double>(work.f);
  const double y_elements = d * f * (work.batched ? static_cast<double>(work.b) : 1);
  const double params = std::isnan(given.params) ? y_elements : given.params;
  Prediction out = from_cost(cost_of(work, y_elements, params), roofs, given);
  if (!work.batched && !work.tile) {  // both grow in step with B, or with whole tiles of it
    out.critical_batch = critical_batch({2 * params, work.element.x * d + work.element.z * f},
                                        work.element.y * params, roofs.peak, roofs.bandwidth);
    out.critical_batch_rule_of_thumb =
        critical_batch_rule_of_thumb(work.element.y, roofs.peak, roofs.bandwidth);
  }
  return out;
}

Prediction predict_dot(std::int64_t n, double element_bytes, const Roofs& roofs,
                       const Given& given) {
  Cost cost = dot_cost(n, element_bytes);
  if (!std::isnan(given.params)) {
    cost = {2 * given.params - 1, element_bytes * (2 * given.params + 1)};
  }
  return from_cost(cost, roofs, given);
}

Prediction predict(const DecodeAttention& work, const Roofs& roofs, const Given& given) {
  Cost cost = decode_attention_cost(work);
  if (!std::isnan(given.params)) {
    const double elements = 2.0 * static_cast<double>(work.batch) *
                            static_cast<double>(work.kv_heads) * static_cast<double>(work.context) *
                            static_cast<double>(work.head_dim);
    cost.flops *= given.params / elements;
    cost.bytes += work.kv_bytes * (given.params - elements);
  }
  return from_cost(cost, roofs, given);
}

}  // namespace roofline::predict
