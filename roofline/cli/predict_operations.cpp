// roofline predict matmul, dot and attention.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "roofline/base/dtype_names.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/json_text.hpp"
#include "roofline/base/text_table.hpp"
#include "roofline/cli/predict.hpp"

namespace roofline::cli {
namespace {

void print(const PredictOptions& options, const std::string& what,
           const predict::Hardware& hardware, const predict::Roofs& roofs,
           const predict::Prediction& p) {
  if (options.as_json) {
    const OrderedJson out = {
        {"flops", json_number(p.flops)},
        {"bytes", json_number(p.bytes)},
        {"intensity", json_number(p.intensity)},
        {"ridge_intensity", json_number(p.ridge_intensity)},
        {"t_math_s", json_number(p.t_math_s)},
        {"t_comms_s", json_number(p.t_comms_s)},
        {"t_launch_s", p.t_launch_s > 0 ? json_number(p.t_launch_s) : OrderedJson(nullptr)},
        {"t_lower_s", json_number(p.t_lower_s)},
        {"t_upper_s", json_number(p.t_upper_s)},
        {"bound", p.bound},
        {"attainable_flops_per_s", json_number(p.attainable_flops_per_s)},
        {"critical_batch", json_number(p.critical_batch)},
        {"critical_batch_rule_of_thumb", json_number(p.critical_batch_rule_of_thumb)},
        {"hardware", json_of(options, hardware, roofs)}};
    fmt::print("{}\n", json_text(out));
    return;
  }
  const std::string unit = work_unit(roofs);
  print_line("work", what);
  print_roofs(options, hardware, roofs);
  print_line("amount",
             fmt::format("{}, {}", with_prefix(p.flops, unit), with_prefix(p.bytes, "B")));
  print_line("intensity",
             fmt::format("{:.4g} {}/B, ridge {:.4g}", p.intensity, unit, p.ridge_intensity));
  print_line("arithmetic", with_prefix(p.t_math_s, "s"));
  print_line(roofs.level, with_prefix(p.t_comms_s, "s"));
  if (p.t_launch_s > 0) print_line("launch", with_prefix(p.t_launch_s, "s"));
  print_line("time", std::isnan(options.given.step_s)
                         ? fmt::format("{} overlapped, {} one after the other",
                                       with_prefix(p.t_lower_s, "s"), with_prefix(p.t_upper_s, "s"))
                         : fmt::format("{}, given", with_prefix(p.t_lower_s, "s")));
  print_line("bound by", p.bound);
  print_line("attainable", fmt::format("{}, {:.1f} % of the peak",
                                       with_prefix(p.attainable_flops_per_s, unit + "/s"),
                                       100 * p.attainable_flops_per_s / roofs.peak));
  if (p.critical_batch_rule_of_thumb) {
    const std::string rule = fmt::format("rule of thumb {:.4g}", *p.critical_batch_rule_of_thumb);
    print_line("compute-bound", p.critical_batch
                                    ? fmt::format("above B = {:.5g} ({})", *p.critical_batch, rule)
                                    : fmt::format("at no B ({})", rule));
  }
}

Tile tile_of(const std::string& text) {
  const std::size_t first = text.find('x'), second = text.find('x', first + 1);
  if (first == std::string::npos || second == std::string::npos) {
    throw BadInput(fmt::format("--tile '{}' is not BMxBNxBK, as in 128x128x64", text));
  }
  return {size_of("--tile", text.substr(0, first)),
          size_of("--tile", text.substr(first + 1, second - first - 1)),
          size_of("--tile", text.substr(second + 1))};
}

void add_matmul(CLI::App& predict, int& exit_code) {
  struct Options : PredictOptions {
    predict::Matmul work;
    std::string x = "bf16", y, out, tile;
  };
  auto* form = predict.add_subcommand("matmul", "X[B,D] Y[D,F] -> Z[B,F]");
  const auto o = std::make_shared<Options>();
  add_size(*form, "--B", o->work.b, "Rows of X: the batch")->required();
  add_size(*form, "--D", o->work.d, "Columns of X, rows of Y: the contraction")->required();
  add_size(*form, "--F", o->work.f, "Columns of Y")->required();
  add_dtype(*form, "--x", o->x, "Type of X, the activations (bf16)");
  add_dtype(*form, "--y", o->y, "Type of Y, the weights (as X)");
  add_dtype(*form, "--out", o->out, "Type of Z (as X)");
  auto* batched = form->add_flag("--batched", o->work.batched, "Y[B,D,F]: a matrix for each row");
  auto* tile =
      form->add_option("--tile", o->tile, "Count the bytes behind the level that holds such tiles")
          ->type_name("BMxBNxBK")
          ->excludes(batched);
  form->add_flag("--output-read", o->work.output_read, "The tile's output is read as well")
      ->needs(tile);
  add_hardware_flags(*form, *o);
  add_json_flag(*form, *o);
  form->callback([o, &exit_code] {
    if (o->y.empty()) o->y = o->x;
    if (o->out.empty()) o->out = o->x;
    o->work.element = {element_bytes(o->x), element_bytes(o->y), element_bytes(o->out)};
    if (!o->tile.empty()) o->work.tile = tile_of(o->tile);
    const auto hardware = hardware_of(*o);
    const auto roofs = roofs_of(*o, hardware, o->x, o->y);
    const std::string what =
        fmt::format("{} X[{},{}] x {} Y[{}{},{}] -> {}{}", o->x, o->work.b, o->work.d, o->y,
                    o->work.batched ? fmt::format("{},", o->work.b) : "", o->work.d, o->work.f,
                    o->out, o->tile.empty() ? "" : ", tiles " + o->tile);
    print(*o, what, hardware, roofs, predict::predict(o->work, roofs, o->given));
    exit_code = 0;
  });
}

void add_dot(CLI::App& predict, int& exit_code) {
  struct Options : PredictOptions {
    std::int64_t n = 0;
    std::string dtype = "bf16";
  };
  auto* form =
      predict.add_subcommand("dot", "x . y, on vector units: matrix units have nothing to reuse");
  const auto o = std::make_shared<Options>();
  add_size(*form, "--n", o->n, "Elements of each vector")->required();
  add_dtype(*form, "--dtype", o->dtype, "Type of the vectors (bf16)");
  add_hardware_flags(*form, *o);
  add_json_flag(*form, *o);
  form->callback([o, &exit_code] {
    const auto hardware = hardware_of(*o);
    const auto roofs = roofs_of(*o, hardware, o->dtype, o->dtype, true);
    print(*o, fmt::format("{} dot product of {} elements", o->dtype, o->n), hardware, roofs,
          predict::predict_dot(o->n, element_bytes(o->dtype), roofs, o->given));
    exit_code = 0;
  });
}

void add_attention(CLI::App& predict, int& exit_code) {
  struct Options : PredictOptions {
    DecodeAttention work;
    std::string kv = "bf16", query;
  };
  auto* form = predict.add_subcommand(
      "attention", "One decoded token a sequence over its KV cache; softmax is not counted");
  const auto o = std::make_shared<Options>();
  o->work.kv_heads = 0;
  add_size(*form, "--batch", o->work.batch, "Sequences (1)");
  add_size(*form, "--context", o->work.context, "Tokens in the cache of each")->required();
  add_size(*form, "--heads", o->work.heads, "Query heads")->required();
  add_size(*form, "--kv-heads", o->work.kv_heads, "Heads of keys and values (as query heads)");
  add_size(*form, "--head-dim", o->work.head_dim, "Size of a head")->required();
  add_dtype(*form, "--kv", o->kv, "Type of the KV cache (bf16)");
  add_dtype(*form, "--query", o->query, "Type of query and output (bf16, or as a wider cache)");
  add_hardware_flags(*form, *o);
  add_json_flag(*form, *o);
  form->callback([o, &exit_code] {
    if (o->work.kv_heads == 0) o->work.kv_heads = o->work.heads;
    if (o->query.empty()) o->query = wider_dtype(o->kv, "bf16");
    o->work.kv_bytes = element_bytes(o->kv);
    o->work.query_output_bytes = element_bytes(o->query);
    const auto hardware = hardware_of(*o);
    const std::string widest = wider_dtype(o->query, o->kv);
    const auto roofs = roofs_of(*o, hardware, widest, widest);
    const std::string what = fmt::format(
        "decode attention, batch {}, context {}, {} heads over {} of {}, {} cache", o->work.batch,
        o->work.context, o->work.heads, o->work.kv_heads, o->work.head_dim, o->kv);
    print(*o, what, hardware, roofs, predict::predict(o->work, roofs, o->given));
    exit_code = 0;
  });
}

}  // namespace

void add_predict_operations(CLI::App& predict, int& exit_code) {
  add_matmul(predict, exit_code);
  add_dot(predict, exit_code);
  add_attention(predict, exit_code);
}

}  // namespace roofline::cli
