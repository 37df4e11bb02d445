// One operation on one chip: how long it takes at least and at most, and what bounds it.
// Formulas: model.hpp.
#pragma once

#include <optional>

#include "roofline/model.hpp"
#include "roofline/predict/hardware.hpp"

namespace roofline::predict {

/// What replaces figures that would follow from the shape; NaN where nothing does.
struct Given {
  /// Elements of the operand that is used again: Y of a matmul, y of a dot product, the KV cache.
  double params = kUnknownNumber;
  double step_s = kUnknownNumber;  ///< the time that it takes
};

struct Prediction {
  double flops = 0, bytes = 0;
  double intensity = 0, ridge_intensity = 0;
  double t_math_s = 0, t_comms_s = 0;
  double t_launch_s = 0;  ///< 0: not known
  double t_lower_s = 0, t_upper_s = 0;
  std::string bound;  ///< compute, launch or the memory's level
  double attainable_flops_per_s = 0;
  /// The batch from which on it is compute-bound: by exact bytes, and by the weights alone. Nothing
  /// where the intensity does not depend on the batch, or never reaches the ridge.
  std::optional<double> critical_batch, critical_batch_rule_of_thumb;
};

/// X[B,D] Y[D,F] -> Z[B,F].
struct Matmul {
  std::int64_t b = 0, d = 0, f = 0;
  ElementSizes element;
  bool batched = false;      ///< Y[B,D,F]: one matrix per row
  std::optional<Tile> tile;  ///< bytes behind the level that holds these tiles; not with batched
  bool output_read = false;  ///< the tile's output is read as well as written
};

/// Throws BadInput, which names what is out of range, unless `holds`: a time is a finite number.
void need_finite_time(bool holds);

/// All throw BadInput for impossible shapes and for given figures that are not above 0, or out
/// of range.
Prediction predict(const Matmul& work, const Roofs& roofs, const Given& given = {});
Prediction predict_dot(std::int64_t n, double element_bytes, const Roofs& roofs,
                       const Given& given = {});
Prediction predict(const DecodeAttention& work, const Roofs& roofs, const Given& given = {});

}  // namespace roofline::predict
