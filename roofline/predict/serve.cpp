#include "roofline/predict/serve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "roofline/base/error.hpp"
#include "roofline/model.hpp"

namespace roofline::predict {
namespace {

/// NaN passes: not given.
void need_positive(double value, const char* name) {
  if (value <= 0 || std::isinf(value)) {
    throw BadInput(fmt::format("{} is {}, must be above 0", name, value));
  }
}

void check(const Serving& s) {
  need_size(s.chips, "chips");
  need_size(s.batch, "batch");
  need_size(s.context, "context");
  need_size(s.axes, "axes");
  need_positive(s.params, "params");
  need_positive(s.step_s, "step");
  need_positive(s.memory_bytes, "memory");
  need_positive(s.prefill_tokens, "prefill");
  need_positive(s.decode_tokens, "decode");
  need_positive(s.mfu, "mfu");
  if (s.mfu > 1) throw BadInput("mfu: more than 1, the whole peak");
  need_positive(s.price_per_hour, "price");
  need_positive(s.link_axis, "link bandwidth");
}

void predict_memory(const Serving& s, ServePrediction& out) {
  const double batch = static_cast<double>(s.batch), context = static_cast<double>(s.context);
  out.parameters = std::isnan(s.params) ? s.model.parameters() : s.params;
  out.parameter_bytes = out.parameters * s.weight_bytes;
  out.kv_bytes_per_token = s.model.kv_elements_per_token() * s.kv_bytes;
  out.kv_bytes = batch * context * out.kv_bytes_per_token;
  out.total_bytes = out.parameter_bytes + out.kv_bytes;
  if (std::isnan(s.memory_bytes)) return;
  const double memory = static_cast<double>(s.chips) * s.memory_bytes;
  out.fits = out.total_bytes <= memory;
  out.min_chips = std::ceil(out.total_bytes / s.memory_bytes);
  out.slice_chips = 1;
  while (out.slice_chips < out.min_chips) out.slice_chips *= 2;
  out.max_batch = std::max(
      0.0, std::floor((memory - out.parameter_bytes) / (context * out.kv_bytes_per_token)));
}

void predict_step(const Serving& s, ServePrediction& out) {
  const double n = static_cast<double>(s.chips), batch = static_cast<double>(s.batch);
  out.t_attention_s = out.kv_bytes / (n * s.roofs.bandwidth);
  out.t_parameters_s = out.parameter_bytes / (n * s.roofs.bandwidth);
  out.t_flops_s = 2 * batch * out.parameters / (n * s.roofs.peak);
  out.t_mlp_s = std::max(out.t_flops_s, out.t_parameters_s);
  out.t_step_s = std::isnan(s.step_s) ? out.t_attention_s + out.t_mlp_s : s.step_s;
  const bool compute = out.t_flops_s > out.t_parameters_s && out.t_flops_s > out.t_attention_s;
  out.bound = compute ? "compute" : s.roofs.level;
  out.critical_batch =
      critical_batch_rule_of_thumb(s.weight_bytes, s.roofs.peak, s.roofs.bandwidth);
  out.tokens_per_s = batch / out.t_step_s;
  out.tokens_per_s_per_chip = out.tokens_per_s / n;
}

/// Of a layer's product on Y chips: activations a B D / W_link against 2 B D F / (Y C), and against
/// weights e D F / (Y W).
void predict_link(const Serving& s, ServePrediction& out) {
  if (std::isnan(s.link_axis)) return;
  const double activation_bytes = std::max(2.0, s.weight_bytes);
  const double links = static_cast<double>(s.axes) * s.link_axis *
                       static_cast<double>(s.model.d_ff) / activation_bytes;
  out.model_parallel_limit = 2 * links / s.roofs.peak;
  out.model_parallel_limit_memory_bound =
      s.weight_bytes * links / (static_cast<double>(s.batch) * s.roofs.bandwidth);
  out.link_bound =
      s.chips > 1 && static_cast<double>(s.chips) >
                         std::max(out.model_parallel_limit, out.model_parallel_limit_memory_bound);
}

}  // namespace

ServePrediction predict(const Serving& s) {
  check(s);
  ServePrediction out;
  predict_memory(s, out);
  predict_step(s, out);
  const double n = static_cast<double>(s.chips), batch = static_cast<double>(s.batch);
  // What is not given is NaN, and so is what follows from it.
  out.queries_per_s_per_chip = batch / (out.t_step_s * s.decode_tokens * n);
  out.prefill_s = 2 * out.parameters * s.prefill_tokens / (n * s.roofs.peak * s.mfu);
  out.sequences_finished_per_step = batch / s.decode_tokens;
  out.kv_tokens_freed_per_step = batch * (s.prefill_tokens + s.decode_tokens) / s.decode_tokens;
  out.prefill_per_generate_server = batch * out.prefill_s / (out.t_step_s * s.decode_tokens);
  predict_link(s, out);
  out.flops_per_dollar = s.roofs.peak * 3600 / s.price_per_hour;
  out.dollars_per_million_tokens = 1e6 * n * s.price_per_hour / 3600 / out.tokens_per_s;
  if (!std::isfinite(out.total_bytes) || !std::isfinite(out.t_step_s) ||
      !std::isfinite(out.tokens_per_s)) {
    throw BadInput(
        "batch, context, params, peak or bandwidth is out of range: the result is not finite");
  }
  return out;
}

}  // namespace roofline::predict
