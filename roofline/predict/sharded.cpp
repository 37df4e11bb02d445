#include "roofline/predict/sharded.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "roofline/base/error.hpp"

namespace roofline::predict {
namespace {

constexpr std::pair<Collective, std::string_view> kNames[] = {
    {Collective::kNone, "none"},
    {Collective::kAllGather, "all-gather"},
    {Collective::kReduceScatter, "reduce-scatter"},
    {Collective::kAllReduce, "all-reduce"}};

void check(const ShardedMatmul& work) {
  if (work.chips < 1) throw BadInput(fmt::format("chips is {}, must be at least 1", work.chips));
  const std::int64_t size = work.shard == 'B' ? work.b : work.shard == 'D' ? work.d : work.f;
  if (size % work.chips != 0) {
    throw BadInput(fmt::format("{} chips do not divide {} = {}", work.chips, work.shard, size));
  }
  const bool reduces =
      work.collective == Collective::kReduceScatter || work.collective == Collective::kAllReduce;
  if (work.shard == 'D' ? !reduces : reduces) {
    throw BadInput(fmt::format("--collective {} does not go with --shard {}: {}",
                               name_of(work.collective), work.shard,
                               work.shard == 'D' ? "partial sums need all-reduce or reduce-scatter"
                                                 : "all-gather or none"));
  }
}

}  // namespace

Collective collective_of(std::string_view name) {
  for (const auto& [collective, known] : kNames) {
    if (known == name) return collective;
  }
  throw BadInput(fmt::format(
      "--collective '{}' is none of none, all-gather, reduce-scatter, all-reduce", name));
}

std::string_view name_of(Collective collective) {
  for (const auto& [known, name] : kNames) {
    if (known == collective) return name;
  }
  return "";
}

Collective default_collective(char shard) {
  return shard == 'D' ? Collective::kAllReduce : Collective::kNone;
}

ShardedPrediction predict(const ShardedMatmul& work, const Roofs& roofs, double link_bandwidth,
                          const Given& given) {
  const Cost whole = matmul_cost(work.b, work.d, work.f, work.element);
  check(work);
  const double n = static_cast<double>(work.chips);
  const double b = static_cast<double>(work.b), d = static_cast<double>(work.d),
               f = static_cast<double>(work.f);
  const double params = std::isnan(given.params) ? d * f : given.params;
  const double x = work.element.x * b * d, y = work.element.y * params, z = work.element.z * b * f;

  ShardedPrediction out;
  out.flops = whole.flops * params / (d * f) / n;
  out.memory_bytes = work.shard == 'B'   ? x / n + y + z / n
                     : work.shard == 'D' ? x / n + y / n + z
                                         : x + y / n + z / n;
  if (work.collective != Collective::kNone) {
    const double passes = work.collective == Collective::kAllReduce ? 2 : 1;
    out.link_bytes = passes * (work.shard == 'B' ? y : z) * (n - 1) / n;
  }

  Work chip{.flops = out.flops,
            .peak_flops_per_s = roofs.peak,
            .levels = {{roofs.level, out.memory_bytes, roofs.bandwidth}}};
  if (out.link_bytes > 0) chip.levels.push_back({"link", out.link_bytes, link_bandwidth});
  const Bounds limits = bounds(chip);
  out.t_math_s = limits.t_math;
  out.t_memory_s = limits.t_levels.front();
  out.t_lower_s = limits.t_lower;
  out.t_upper_s = limits.t_upper;
  out.bound = limits.bound;
  if (out.link_bytes > 0) {
    out.t_comms_s = limits.t_levels.back();
    // Both times grow alike in all sizes but one: arithmetic alone grows with the sharded batch
    // where Y is gathered, and with the contraction where Z is reduced or gathered.
    out.critical_dimension = work.shard == 'B' ? "B" : "D";
    out.critical_size = (work.shard == 'B' ? b : d) * out.t_comms_s / out.t_math_s;
  }
  if (!std::isnan(given.step_s)) out.t_lower_s = out.t_upper_s = given.step_s;
  need_finite_time(std::isfinite(out.t_upper_s));
  return out;
}

}  // namespace roofline::predict
