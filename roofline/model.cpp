#include "roofline/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "roofline/base/error.hpp"

namespace roofline {
namespace {

void need(bool holds, const char* what) {
  if (!holds) throw BadInput(what);
}

void need_bytes(double value, const char* name) {
  if (!(value > 0) || !std::isfinite(value)) {
    throw BadInput(fmt::format("element size of {} is {}, must be above 0", name, value));
  }
}

double time_of(double amount, double rate, const std::string& what) {
  if (!(amount >= 0) || !std::isfinite(amount)) {
    throw BadInput(fmt::format("{}: amount {} must not be negative", what, amount));
  }
  if (amount == 0) return 0;
  if (!(rate > 0)) throw BadInput(fmt::format("{}: rate {} must be above 0", what, rate));
  return amount / rate;
}

}  // namespace

void need_size(std::int64_t value, const char* name) {
  if (value < 1) throw BadInput(fmt::format("{} is {}, must be at least 1", name, value));
}

double ridge_intensity(double peak_flops_per_s, double bandwidth) {
  return peak_flops_per_s / bandwidth;
}

double attainable_flops_per_s(double intensity, double peak_flops_per_s, double bandwidth) {
  return std::min(peak_flops_per_s, intensity * bandwidth);
}

Bounds bounds(const Work& work) {
  Bounds result;
  result.t_math = time_of(work.flops, work.peak_flops_per_s, "compute");
  result.t_launch = time_of(work.launch_s, 1, "launch");
  result.t_lower = result.t_math;
  result.t_upper = result.t_math + result.t_launch;
  result.bound = "compute";
  for (const auto& load : work.levels) {
    const double t = time_of(load.bytes, load.bandwidth, load.level);
    result.t_levels.push_back(t);
    result.t_upper += t;
    // At the first level a tie with compute goes to the level; between levels to the inner one.
    if (t > result.t_lower || (t == result.t_lower && result.bound == "compute" && t > 0)) {
      result.t_lower = t;
      result.bound = load.level;
    }
  }
  if (result.t_launch > result.t_lower) {
    result.t_lower = result.t_launch;
    result.bound = "launch";
  }
  return result;
}

Placement place(double measured_s, double t_lower, double t_upper, double uncertainty) {
  need(measured_s > 0 && std::isfinite(measured_s), "measured time must be above 0");
  need(t_lower > 0 && t_lower <= t_upper && std::isfinite(t_upper),
       "bounds must satisfy 0 < T_lower <= T_upper");
  need(uncertainty >= 0 && uncertainty < 1, "uncertainty must be in [0, 1)");
  Placement result;
  if (measured_s < t_lower * (1 - uncertainty)) {
    result.place = Place::kImpossible;
    return result;
  }
  if (measured_s > t_upper * (1 + uncertainty)) {
    result.place = Place::kLost;
    result.lost_s = measured_s - t_upper;
    return result;
  }
  if (t_upper > t_lower) {
    result.overlap = std::clamp((t_upper - measured_s) / (t_upper - t_lower), 0.0, 1.0);
  }
  return result;
}

Cost dot_cost(std::int64_t n, double element_bytes) {
  need_size(n, "N");
  need_bytes(element_bytes, "the vectors");
  const double count = static_cast<double>(n);
  return {2 * count - 1, 2 * element_bytes * count + element_bytes};
}

Cost matmul_cost(std::int64_t b, std::int64_t d, std::int64_t f, const ElementSizes& e) {
  need_size(b, "B");
  need_size(d, "D");
  need_size(f, "F");
  need_bytes(e.x, "X");
  need_bytes(e.y, "Y");
  need_bytes(e.z, "Z");
  const double rows = static_cast<double>(b), inner = static_cast<double>(d),
               columns = static_cast<double>(f);
  return {2 * rows * inner * columns,
          e.x * rows * inner + e.y * inner * columns + e.z * rows * columns};
}

Cost batched_matmul_cost(std::int64_t b, std::int64_t d, std::int64_t f, const ElementSizes& e) {
  Cost cost = matmul_cost(b, d, f, e);
  const double weights = e.y * static_cast<double>(d) * static_cast<double>(f);
  cost.bytes += (static_cast<double>(b) - 1) * weights;
  return cost;
}

Cost decode_attention_cost(const DecodeAttention& shape) {
  need_size(shape.batch, "batch");
  need_size(shape.context, "context");
  need_size(shape.heads, "heads");
  need_size(shape.kv_heads, "kv_heads");
  need_size(shape.head_dim, "head_dim");
  need_bytes(shape.kv_bytes, "the KV cache");
  need_bytes(shape.query_output_bytes, "query and output");
  if (shape.heads % shape.kv_heads != 0) {
    throw BadInput(
        fmt::format("kv_heads {} does not divide heads {}", shape.kv_heads, shape.heads));
  }
  const double b = static_cast<double>(shape.batch), s = static_cast<double>(shape.context),
               n = static_cast<double>(shape.heads), k = static_cast<double>(shape.kv_heads),
               h = static_cast<double>(shape.head_dim);
  return {4 * b * n * s * h,
          shape.kv_bytes * 2 * b * k * s * h + shape.query_output_bytes * 2 * b * n * h};
}

double tiled_matmul_bytes(std::int64_t m, std::int64_t n, std::int64_t k, const Tile& tile,
                          const ElementSizes& e, bool output_read) {
  need_size(m, "M");
  need_size(n, "N");
  need_size(k, "K");
  need_size(tile.m, "tile M");
  need_size(tile.n, "tile N");
  need_size(tile.k, "tile K");
  need_bytes(e.x, "X");
  need_bytes(e.y, "Y");
  need_bytes(e.z, "Z");
  // Ragged tiles add up to the matrix itself: X is loaded once per column of tiles, Y once per
  // row of tiles. The depth bk of a tile only sets how often, not how much.
  const double rows = static_cast<double>(m), columns = static_cast<double>(n),
               depth = static_cast<double>(k);
  const double tile_rows = static_cast<double>((m - 1) / tile.m + 1),
               tile_columns = static_cast<double>((n - 1) / tile.n + 1);
  return e.x * rows * depth * tile_columns + e.y * depth * columns * tile_rows +
         e.z * rows * columns * (output_read ? 2 : 1);
}

std::optional<double> critical_batch(std::int64_t d, std::int64_t f, const ElementSizes& e,
                                     double peak_flops_per_s, double bandwidth) {
  const Cost one = matmul_cost(1, d, f, e);
  const double weights = e.y * static_cast<double>(d) * static_cast<double>(f);
  return critical_batch({one.flops, one.bytes - weights}, weights, peak_flops_per_s, bandwidth);
}

std::optional<double> critical_batch(const Cost& per_row, double fixed_bytes,
                                     double peak_flops_per_s, double bandwidth) {
  const double ridge = ridge_intensity(peak_flops_per_s, bandwidth);
  need(ridge > 0 && std::isfinite(ridge), "peak and bandwidth must be above 0");
  const double growth = per_row.flops - ridge * per_row.bytes;
  if (growth <= 0) return std::nullopt;
  return ridge * fixed_bytes / growth;
}

double critical_batch_rule_of_thumb(double weight_bytes, double peak_flops_per_s,
                                    double bandwidth) {
  need_bytes(weight_bytes, "the weights");
  return ridge_intensity(peak_flops_per_s, bandwidth) * weight_bytes / 2;
}

}  // namespace roofline
