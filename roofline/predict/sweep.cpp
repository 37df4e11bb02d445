#include "roofline/predict/sweep.hpp"

#include "roofline/base/schema.hpp"

namespace roofline::predict {

CsvTable table(const BatchSweep& sweep) {
  CsvTable csv(kBatchSweepColumns);
  for (Matmul shape : sweep.shapes) {
    for (shape.b = 1; shape.b <= sweep.most; ++shape.b) {
      const Prediction p = predict(shape, sweep.roofs, sweep.given);
      csv.add_row();
      csv.set("hardware", sweep.hardware);
      csv.set("dtype", sweep.dtype);
      csv.set("compute", sweep.roofs.dtype);
      csv.set("D", static_cast<double>(shape.d));
      csv.set("F", static_cast<double>(shape.f));
      csv.set("B", static_cast<double>(shape.b));
      csv.set("flops", p.flops);
      csv.set("bytes", p.bytes);
      csv.set("intensity", p.intensity);
      csv.set("t_math_s", p.t_math_s);
      csv.set("t_comms_s", p.t_comms_s);
      csv.set("t_lower_s", p.t_lower_s);
      csv.set("t_upper_s", p.t_upper_s);
      csv.set("bound", p.bound);
      csv.set("attainable_flops_per_s", p.attainable_flops_per_s);
      csv.set("peak_flops_per_s", sweep.roofs.peak);
      csv.set("critical_batch", p.critical_batch.value_or(kUnknownNumber));
      for (const MeasuredMatmul& point : sweep.measured) {
        if (point.b != shape.b || point.d != shape.d || point.f != shape.f) continue;
        csv.set("measured_flops_per_s", point.flops_per_s);
        csv.set("measured_variant", point.variant);
      }
    }
  }
  return csv;
}

CsvTable table(const ServeSweep& sweep) {
  CsvTable csv(kServeSweepColumns);
  Serving at = sweep.base;
  const auto add = [&] {
    const ServePrediction p = predict(at);
    csv.add_row();
    csv.set("hardware", sweep.hardware);
    csv.set("model", at.model.name);
    csv.set("chips", static_cast<double>(at.chips));
    csv.set("weights", sweep.weights);
    csv.set("kv", sweep.kv);
    csv.set("compute", at.roofs.dtype);
    csv.set("context", static_cast<double>(at.context));
    csv.set("batch", static_cast<double>(at.batch));
    csv.set("fits", p.fits ? (*p.fits ? 1 : 0) : kUnknownNumber);
    csv.set("t_parameters_s", p.t_parameters_s);
    csv.set("t_kv_s", p.t_attention_s);
    csv.set("t_flops_s", p.t_flops_s);
    csv.set("t_step_s", p.t_step_s);
    csv.set("bound", p.bound);
    csv.set("tokens_per_s", p.tokens_per_s);
    csv.set("tokens_per_s_per_chip", p.tokens_per_s_per_chip);
    csv.set("critical_batch", p.critical_batch);
  };
  for (const std::int64_t context : sweep.contexts) {
    at.context = context;
    for (std::int64_t power = 1; power <= sweep.most; power *= 2) {
      at.batch = power;
      add();
      at.batch = power + power / 2;
      if (power > 1 && at.batch <= sweep.most) add();
    }
  }
  return csv;
}

}  // namespace roofline::predict
