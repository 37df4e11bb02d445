// roofline predict sharded-matmul.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "roofline/base/dtype_names.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/json_text.hpp"
#include "roofline/base/text_table.hpp"
#include "roofline/cli/predict.hpp"
#include "roofline/predict/sharded.hpp"

namespace roofline::cli {
namespace {

struct Options : PredictOptions {
  predict::ShardedMatmul work;
  std::string shard = "D", collective, x = "bf16", y, out;
  double link = kUnknownNumber;
};

void print(const Options& o, const predict::Hardware& hardware, const predict::Roofs& roofs,
           const predict::ShardedPrediction& p) {
  if (o.as_json) {
    const OrderedJson out = {
        {"t_math_s", json_number(p.t_math_s)},
        {"t_memory_s", json_number(p.t_memory_s)},
        {"t_comms_s", json_number(p.t_comms_s)},
        {"t_lower_s", json_number(p.t_lower_s)},
        {"t_upper_s", json_number(p.t_upper_s)},
        {"flops", json_number(p.flops)},
        {"memory_bytes", json_number(p.memory_bytes)},
        {"link_bytes", json_number(p.link_bytes)},
        {"bound", p.bound},
        {"critical_size", json_number(p.critical_size)},
        {"critical_dimension",
         p.critical_dimension.empty() ? OrderedJson(nullptr) : OrderedJson(p.critical_dimension)},
        {"hardware", json_of(o, hardware, roofs)}};
    fmt::print("{}\n", json_text(out));
    return;
  }
  print_line("work", fmt::format("{} X[{},{}] x {} Y[{},{}] -> {} over {} chips, {} split, {}", o.x,
                                 o.work.b, o.work.d, o.y, o.work.d, o.work.f, o.out, o.work.chips,
                                 o.work.shard, name_of(o.work.collective)));
  print_roofs(o, hardware, roofs);
  print_line("link", with_prefix(o.link, "B/s one way"));
  const auto part = [](std::string_view name, double seconds, double amount,
                       std::string_view unit) {
    print_line(
        name, fmt::format("{:<12}{} a chip", with_prefix(seconds, "s"), with_prefix(amount, unit)));
  };
  part("arithmetic", p.t_math_s, p.flops, work_unit(roofs));
  part(roofs.level, p.t_memory_s, p.memory_bytes, "B");
  part("link", p.t_comms_s, p.link_bytes, "B");
  print_line("time", std::isnan(o.given.step_s)
                         ? fmt::format("{} overlapped, {} one after the other",
                                       with_prefix(p.t_lower_s, "s"), with_prefix(p.t_upper_s, "s"))
                         : fmt::format("{}, given", with_prefix(p.t_lower_s, "s")));
  print_line("bound by", p.bound);
  print_line("link hidden", p.critical_size ? fmt::format("by arithmetic above {} = {:.5g}",
                                                          p.critical_dimension, *p.critical_size)
                                            : "nothing crosses it");
}

}  // namespace

void add_predict_sharded(CLI::App& predict, int& exit_code) {
  auto* form = predict.add_subcommand(
      "sharded-matmul", "X[B,D] Y[D,F] over several chips: arithmetic, memory and link");
  const auto o = std::make_shared<Options>();
  add_size(*form, "--B", o->work.b, "Rows of X: the batch")->required();
  add_size(*form, "--D", o->work.d, "Columns of X, rows of Y: the contraction")->required();
  add_size(*form, "--F", o->work.f, "Columns of Y")->required();
  add_size(*form, "--chips", o->work.chips, "Chips on a ring")->required();
  form->add_option("--shard", o->shard, "The dimension that is split: D, B or F (D)")
      ->check(CLI::IsMember({"D", "B", "F"}));
  form->add_option("--collective", o->collective,
                   "D: all-reduce or reduce-scatter; B: none or all-gather, of Y; F: none or "
                   "all-gather, of Z (the first of each)")
      ->type_name("NAME");
  add_dtype(*form, "--x", o->x, "Type of X, the activations (bf16)");
  add_dtype(*form, "--y", o->y, "Type of Y, the weights (as X)");
  add_dtype(*form, "--out", o->out, "Type of Z (as X)");
  add_amount(*form, "--link-bandwidth", o->link,
             "bytes/s of the link in one direction (the chip's)");
  add_hardware_flags(*form, *o);
  add_json_flag(*form, *o);
  form->callback([o, &exit_code] {
    o->work.shard = o->shard.front();
    o->work.collective = o->collective.empty() ? predict::default_collective(o->work.shard)
                                               : predict::collective_of(o->collective);
    if (o->y.empty()) o->y = o->x;
    if (o->out.empty()) o->out = o->x;
    o->work.element = {element_bytes(o->x), element_bytes(o->y), element_bytes(o->out)};
    const auto hardware = hardware_of(*o);
    if (std::isnan(o->link)) o->link = hardware.link_one_way;
    const bool needs_link = o->work.chips > 1 && o->work.collective != predict::Collective::kNone;
    if (std::isnan(o->link) && needs_link) {
      throw BadInput(fmt::format("no one-way bandwidth of a link is known{}: give --link-bandwidth",
                                 hardware.name.empty() ? "" : " of " + hardware.name));
    }
    const auto roofs = roofs_of(*o, hardware, o->x, o->y);
    const auto p = predict::predict(o->work, roofs, o->link, o->given);
    print(*o, hardware, roofs, p);
    exit_code = 0;
  });
}

}  // namespace roofline::cli
