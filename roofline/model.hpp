// The roofline mathematics: bounds of a kernel, where a measured time sits, compulsory work of the
// operations, critical batches. Pure functions, base units (FLOP, bytes, seconds, FLOP/s, bytes/s).
//
// Sources: 'How To Scale Your Model', part 1 (Austin et al., 2025); Williams, Waterman, Patterson,
// 'Roofline', CACM 2009. A multiply and an add count as two FLOP.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace roofline {

/// Throws BadInput naming `name` unless `value` is at least 1.
void need_size(std::int64_t value, const char* name);

/// C / W: the intensity at which both bounds meet. NaN if either is unknown.
double ridge_intensity(double peak_flops_per_s, double bandwidth);

/// min(C, I W).
double attainable_flops_per_s(double intensity, double peak_flops_per_s, double bandwidth);

/// Traffic at one memory level or link, and what the level can do.
struct LevelLoad {
  std::string level;     ///< L1, L2, L3, DRAM, HBM or a link's name
  double bytes = 0;      ///< that really cross it
  double bandwidth = 0;  ///< bytes/s
};

/// One kernel, or one of several parts that run one after another, whose bounds add up.
struct Work {
  double flops = 0;
  double peak_flops_per_s = 0;  ///< of the unit and dtype that it issues to
  std::vector<LevelLoad> levels;
  double launch_s = 0;  ///< launch or start-up time; 0 if none
};

/// What the model says of a Work.
struct Bounds {
  double t_math = 0;             ///< FLOP / C; 0 where there are no FLOP
  std::vector<double> t_levels;  ///< bytes / W, in the order of Work::levels
  double t_launch = 0;
  double t_lower = 0;  ///< perfect overlap: the largest of all of them
  double t_upper = 0;  ///< no overlap: the sum of all of them
  std::string bound;   ///< compute, launch, or the level that is the largest
};

/// T_math = FLOP / C, T_level = bytes / W, T_lower = max, T_upper = sum over all. A tie between
/// compute and a level counts as bound by the level (intensity has to exceed the ridge).
/// Throws BadInput if a quantity is negative or not a number, or a needed peak or bandwidth is
/// not above 0.
Bounds bounds(const Work& work);

/// Where a measured time sits between the bounds.
enum class Place {
  kImpossible,  ///< below T_lower: the byte model, the FLOP count or a ceiling is wrong
  kExplained,   ///< T_lower <= t <= T_upper
  kLost,        ///< above T_upper: something else costs time
};
struct Placement {
  Place place = Place::kExplained;
  /// (T_upper - t) / (T_upper - T_lower), 1 = perfect overlap; only where explained and the bounds
  /// differ.
  std::optional<double> overlap;
  double lost_s = 0;  ///< t - T_upper where that is positive
};

/// `uncertainty` is relative, of the measured time and of the clock together: only what lies
/// beyond it is impossible or lost. Throws BadInput if a time is not positive, or the bounds are
/// out of order.
Placement place(double measured_s, double t_lower, double t_upper, double uncertainty = 0);

/// FLOP and compulsory bytes (every operand once, by its own element size).
struct Cost {
  double flops = 0, bytes = 0;
  double intensity() const { return flops / bytes; }
};

/// Bytes of one element of an operation's operands: 8, 4, 2, 1; 0.5 for 4-bit types.
struct ElementSizes {
  double x = 0, y = 0, z = 0;
};

/// x . y over n elements: 2n - 1 FLOP; 2 e n + e bytes.
Cost dot_cost(std::int64_t n, double element_bytes);

/// X[B,D] Y[D,F] -> Z[B,F]: 2BDF FLOP; x BD + y DF + z BF bytes.
Cost matmul_cost(std::int64_t b, std::int64_t d, std::int64_t f, const ElementSizes& e);

/// X[B,D] Y[B,D,F] -> Z[B,F], one matrix per batch element: 2BDF FLOP; x BD + y BDF + z BF bytes.
Cost batched_matmul_cost(std::int64_t b, std::int64_t d, std::int64_t f, const ElementSizes& e);

/// One query token per sequence over a KV cache.
struct DecodeAttention {
  std::int64_t batch = 1, context = 1, heads = 1, kv_heads = 1, head_dim = 1;
  double kv_bytes = 0;            ///< of one element of keys and values
  double query_output_bytes = 0;  ///< of one element of the query and of the output
};
/// Scores and values, 4 b N S H FLOP (softmax not counted); K and V once, 2 b K S H elements,
/// and query and output, 2 b N H elements. Throws BadInput if kv_heads does not divide heads.
Cost decode_attention_cost(const DecodeAttention& shape);

/// Tile sizes of a blocked matmul M x N x K.
struct Tile {
  std::int64_t m = 0, n = 0, k = 0;
};
/// Bytes between the level that holds the tiles and the one behind it, tm tn (tk (x bm bk + y bk
/// bn) + z bm bn); ragged edge tiles count by what is really loaded. With `output_read` the output
/// is also read (beta != 0, or partial sums come back), and its term counts twice.
double tiled_matmul_bytes(std::int64_t m, std::int64_t n, std::int64_t k, const Tile& tile,
                          const ElementSizes& e, bool output_read = false);

/// The batch B at which X[B,D] Y[D,F] turns compute-bound by its exact bytes: the real solution of
/// 2BDF / C = (x BD + y DF + z BF) / W. Nothing if no batch is large enough.
std::optional<double> critical_batch(std::int64_t d, std::int64_t f, const ElementSizes& e,
                                     double peak_flops_per_s, double bandwidth);

/// The same for any work whose cost grows by `per_row` with B from `fixed_bytes` on.
std::optional<double> critical_batch(const Cost& per_row, double fixed_bytes,
                                     double peak_flops_per_s, double bandwidth);

/// The rule of thumb for B << D, F, where only the weights count: ridge x y / 2.
double critical_batch_rule_of_thumb(double weight_bytes, double peak_flops_per_s, double bandwidth);

}  // namespace roofline
