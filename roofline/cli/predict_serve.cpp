// roofline predict serve: a transformer on a slice of chips, and the questions turned round.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "roofline/base/dtype_names.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/json_text.hpp"
#include "roofline/base/text_table.hpp"
#include "roofline/cli/predict_serving.hpp"

namespace roofline::cli {
namespace {

struct Options : ServingOptions {
  std::int64_t prefill = 0, decode = 0, max_chips = 256;  // 0: not given
  double latency_limit = kUnknownNumber, target = kUnknownNumber;

  bool searches() const { return !std::isnan(latency_limit) || !std::isnan(target); }
};

OrderedJson as_json(const Options& o, const predict::ServePrediction& p) {
  OrderedJson out;
  if (o.searches()) {
    out["chips"] = o.serving.chips;
    out["batch"] = o.serving.batch;
  }
  out["parameters"] = json_number(p.parameters);
  out["parameter_bytes"] = json_number(p.parameter_bytes);
  out["kv_bytes_per_token"] = json_number(p.kv_bytes_per_token);
  out["kv_bytes"] = json_number(p.kv_bytes);
  out["total_bytes"] = json_number(p.total_bytes);
  out["fits"] = p.fits ? OrderedJson(*p.fits) : OrderedJson(nullptr);
  out["min_chips"] = json_number(p.min_chips);
  out["slice_chips"] = json_number(p.slice_chips);
  out["max_batch"] = json_number(p.max_batch);
  out["critical_batch"] = json_number(p.critical_batch);
  out["t_attention_s"] = json_number(p.t_attention_s);
  out["t_mlp_s"] = json_number(p.t_mlp_s);
  out["t_step_s"] = json_number(p.t_step_s);
  out["bound"] = p.bound;
  out["tokens_per_s"] = json_number(p.tokens_per_s);
  out["tokens_per_s_per_chip"] = json_number(p.tokens_per_s_per_chip);
  out["queries_per_s_per_chip"] = json_number(p.queries_per_s_per_chip);
  out["prefill_s"] = json_number(p.prefill_s);
  out["sequences_finished_per_step"] = json_number(p.sequences_finished_per_step);
  out["kv_tokens_freed_per_step"] = json_number(p.kv_tokens_freed_per_step);
  out["prefill_per_generate_server"] = json_number(p.prefill_per_generate_server);
  out["model_parallel_limit"] = json_number(p.model_parallel_limit);
  out["model_parallel_limit_memory_bound"] = json_number(p.model_parallel_limit_memory_bound);
  out["link_bound"] = p.link_bound ? OrderedJson(*p.link_bound) : OrderedJson(nullptr);
  out["flops_per_dollar"] = json_number(p.flops_per_dollar);
  out["dollars_per_million_tokens"] = json_number(p.dollars_per_million_tokens);
  return out;
}

/// Four digits, without an exponent for large ones.
std::string figure(double value) {
  return value < 1000 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

std::string memory_words(const Options& o, const predict::ServePrediction& p) {
  const std::string total = with_prefix(p.total_bytes, "B");
  if (!p.fits) return total + "; what a chip has is not known (--memory)";
  return fmt::format(
      "{} of {}: {}", total,
      with_prefix(static_cast<double>(o.serving.chips) * o.serving.memory_bytes, "B"),
      *p.fits ? fmt::format("fits, up to batch {}", json_number(p.max_batch).dump())
              : "does not fit");
}

/// The longest of the three that the step is made of.
std::string bound_words(const predict::ServePrediction& p) {
  if (p.bound == "compute") return "compute";
  return p.bound +
         (p.t_attention_s > p.t_mlp_s ? ", loading the KV cache" : ", loading the parameters");
}

void print_cost(const Options& o, const predict::ServePrediction& p) {
  if (std::isnan(p.flops_per_dollar)) {
    const double hours = 1e6 * static_cast<double>(o.serving.chips) / p.tokens_per_s / 3600;
    print_line("cost",
               fmt::format("{:.4g} chip hours per million tokens (--price tells dollars)", hours));
    return;
  }
  print_line("cost", fmt::format("${:.4g} per million tokens, {:.3g} {} per dollar",
                                 p.dollars_per_million_tokens, p.flops_per_dollar,
                                 work_unit(o.serving.roofs)));
}

void print_limit(const predict::ServePrediction& p) {
  if (std::isnan(p.model_parallel_limit)) return;
  const double limit = std::max(p.model_parallel_limit, p.model_parallel_limit_memory_bound);
  const auto chips = [](double most) { return std::max(1.0, std::floor(most)); };
  print_line("model parallelism",
             fmt::format("link-bound beyond {:.0f} chip{} at this batch, {:.0f} once "
                         "compute-bound{}",
                         chips(limit), chips(limit) == 1 ? "" : "s", chips(p.model_parallel_limit),
                         p.link_bound == true ? ": this step is slower than predicted here" : ""));
}

void print(const Options& o, const predict::Hardware& hardware, const predict::ServePrediction& p) {
  const predict::Serving& s = o.serving;
  print_line("model", fmt::format("{}, {:.5g} billion parameters{}", s.model.name,
                                  p.parameters / 1e9, std::isnan(s.params) ? "" : ", given"));
  print_line("serving",
             fmt::format("{} chip{}, batch {}, context {}, weights {}, KV cache {}", s.chips,
                         s.chips == 1 ? "" : "s", s.batch, s.context, o.weights, o.kv));
  print_roofs(o, hardware, s.roofs);
  print_line("parameters", with_prefix(p.parameter_bytes, "B"));
  print_line("KV cache", fmt::format("{}, {} a token", with_prefix(p.kv_bytes, "B"),
                                     with_prefix(p.kv_bytes_per_token, "B")));
  print_line("memory", memory_words(o, p));
  print_line("decode step",
             std::isnan(s.step_s)
                 ? fmt::format("{} = {} KV cache + {} matmuls", with_prefix(p.t_step_s, "s"),
                               with_prefix(p.t_attention_s, "s"), with_prefix(p.t_mlp_s, "s"))
                 : with_prefix(p.t_step_s, "s") + ", given");
  print_line("matmuls",
             fmt::format("{} parameters, {} arithmetic; compute-bound above batch {:.4g}",
                         with_prefix(p.t_parameters_s, "s"), with_prefix(p.t_flops_s, "s"),
                         p.critical_batch));
  print_line("bound by", bound_words(p));
  print_line("throughput", fmt::format("{} tokens/s, {} a chip", figure(p.tokens_per_s),
                                       figure(p.tokens_per_s_per_chip)));
  if (!std::isnan(p.queries_per_s_per_chip)) {
    print_line("queries", fmt::format("{:.4g} a second and chip", p.queries_per_s_per_chip));
  }
  if (!std::isnan(p.prefill_s)) print_line("prefill", with_prefix(p.prefill_s, "s"));
  if (!std::isnan(p.sequences_finished_per_step)) {
    print_line("sequences finished", fmt::format("{:.4g} a step", p.sequences_finished_per_step));
  }
  if (!std::isnan(p.kv_tokens_freed_per_step)) {
    print_line("KV tokens freed", fmt::format("{:.4g} a step", p.kv_tokens_freed_per_step));
    print_line("prefill servers",
               fmt::format("{:.4g} for each that generates", p.prefill_per_generate_server));
  }
  print_limit(p);
  print_cost(o, p);
}

std::string nothing_words(const Options& o) {
  std::string wish;
  if (!std::isnan(o.target)) wish = fmt::format(" generate {:.6g} tokens/s", o.target);
  if (!std::isnan(o.latency_limit)) {
    wish += fmt::format("{} step within {}", wish.empty() ? "" : " and",
                        with_prefix(o.latency_limit, "s"));
  }
  const bool links = !std::isnan(o.serving.link_axis);
  return fmt::format("No slice of up to {} chips can{} at context {}{}.", o.max_chips, wish,
                     o.serving.context, links ? " before its links bound it" : "");
}

/// What was searched, one slice a line.
void print_slices(const std::vector<predict::Serving>& slices) {
  std::vector<std::vector<std::string>> rows = {
      {"chips", "batch", "step", "tokens/s", "a chip", "memory a chip"}};
  for (const predict::Serving& slice : slices) {
    const predict::ServePrediction p = predict::predict(slice);
    rows.push_back({std::to_string(slice.chips), std::to_string(slice.batch),
                    with_prefix(p.t_step_s, "s"), figure(p.tokens_per_s),
                    figure(p.tokens_per_s_per_chip),
                    with_prefix(p.total_bytes / static_cast<double>(slice.chips), "B")});
  }
  fmt::print("\n{}", aligned(rows, 0));
}

OrderedJson json_of(const std::vector<predict::Serving>& slices) {
  OrderedJson out = OrderedJson::array();
  for (const predict::Serving& slice : slices) {
    const predict::ServePrediction p = predict::predict(slice);
    out.push_back({{"chips", slice.chips},
                   {"batch", slice.batch},
                   {"t_step_s", json_number(p.t_step_s)},
                   {"tokens_per_s", json_number(p.tokens_per_s)},
                   {"tokens_per_s_per_chip", json_number(p.tokens_per_s_per_chip)},
                   {"total_bytes", json_number(p.total_bytes)}});
  }
  return out;
}

int serve(Options& o) {
  if (o.prefill > 0) o.serving.prefill_tokens = static_cast<double>(o.prefill);
  if (o.decode > 0) o.serving.decode_tokens = static_cast<double>(o.decode);
  const predict::Hardware hardware = complete(o);
  if (std::isnan(o.serving.link_axis)) o.serving.link_axis = hardware.link_axis;
  std::vector<predict::Serving> slices;
  if (o.searches()) {
    slices = predict::slices(o.serving, o.target, o.latency_limit, o.max_chips);
    if (std::isnan(o.serving.link_axis)) {
      o.serving.roofs.notes.push_back(
          "no link between chips is known (--link-bandwidth), so none is taken to bound a slice");
    }
  }
  const auto best = std::isnan(o.target) || slices.empty() ? predict::best_of(slices) : slices[0];
  if (best) {
    o.serving.chips = best->chips;
    o.serving.batch = best->batch;
  }
  const bool found = !o.searches() || best.has_value();
  const predict::ServePrediction p = predict::predict(o.serving);
  OrderedJson json = as_json(o, p);
  if (!found) {
    for (auto& [key, value] : json.items()) value = nullptr;
  }
  if (o.searches()) json["slices"] = json_of(slices);
  json["hardware"] = json_of(o, hardware, o.serving.roofs);
  if (o.as_json) {
    fmt::print("{}\n", json_text(json));
  } else if (!found) {
    fmt::print("{}\n", nothing_words(o));
  } else {
    print(o, hardware, p);
    if (o.searches()) print_slices(slices);
  }
  if (!found) return 1;
  if (p.fits.value_or(true)) return 0;
  if (!o.as_json) {
    fmt::print("\nDoes not fit: it takes {} chips of {} at least, a slice of {}.\n",
               json_number(p.min_chips).dump(), with_prefix(o.serving.memory_bytes, "B"),
               json_number(p.slice_chips).dump());
  }
  return 1;
}

}  // namespace

void add_serving_flags(CLI::App& form, ServingOptions& o) {
  o.serving.context = 8192;
  form.add_option("--model", o.model,
                  "llama3-8b, llama3-70b, llama3-405b, or a FILE.json with the keys layers, "
                  "d_model, d_ff, heads, kv_heads, head_dim, vocabulary")
      ->type_name("MODEL")
      ->required();
  add_dtype(form, "--weights", o.weights, "Type of the parameters (bf16)");
  add_dtype(form, "--kv", o.kv, "Type of the KV cache (bf16)");
  add_amount(form, "--memory", o.serving.memory_bytes, "Bytes of one chip, in place of its own");
  add_hardware_flags(form, o);
}

predict::Hardware complete(ServingOptions& o) {
  predict::Serving& s = o.serving;
  s.model = predict::transformer(o.model);
  s.weight_bytes = element_bytes(o.weights);
  s.kv_bytes = element_bytes(o.kv);
  s.params = o.given.params;
  s.step_s = o.given.step_s;
  const predict::Hardware hardware = hardware_of(o);
  if (std::isnan(s.memory_bytes)) s.memory_bytes = hardware.memory_bytes;
  // Activations are bf16, or as the weights where those are wider; narrower weights are widened.
  s.roofs = roofs_of(o, hardware, wider_dtype(o.weights, "bf16"), o.weights);
  return hardware;
}

void add_predict_serve(CLI::App& predict, int& exit_code) {
  auto* form = predict.add_subcommand(
      "serve", "A transformer: memory, decode step, throughput, cost; or the best slice for it");
  const auto o = std::make_shared<Options>();
  add_serving_flags(*form, *o);
  add_json_flag(*form, *o);
  auto* chips = add_size(*form, "--chips", o->serving.chips, "Chips that share the model (1)");
  auto* batch = add_size(*form, "--batch", o->serving.batch, "Sequences decoded together (1)");
  add_size(*form, "--context", o->serving.context, "Tokens in the cache of each (8192)");
  add_size(*form, "--prefill", o->prefill, "Tokens of a prompt");
  add_size(*form, "--decode", o->decode, "Tokens that a query generates, median");
  add_amount(*form, "--mfu", o->serving.mfu, "Share of the peak that prefill reaches (1)");
  add_amount(*form, "--price", o->serving.price_per_hour, "Dollars an hour for one chip");
  add_amount(*form, "--link-bandwidth", o->serving.link_axis,
             "bytes/s of the links along one axis (the chip's)");
  add_size(*form, "--axes", o->serving.axes, "Axes of the slice that a layer is split over (1)");
  auto* limit = add_duration(*form, "--latency-limit", o->latency_limit,
                             "Find chips and batch with the highest throughput per chip whose "
                             "step takes no longer, as 15ms, and is not link-bound");
  auto* target = add_amount(*form, "--target-throughput", o->target,
                            "Find the fewest chips that generate so many tokens/s");
  add_size(*form, "--max-chips", o->max_chips, "Largest slice of the search (256)");
  for (auto* search : {limit, target}) {
    search->excludes(chips)->excludes(batch)->excludes(form->get_option("--step"));
  }
  form->callback([o, &exit_code] { exit_code = serve(*o); });
}

}  // namespace roofline::cli
