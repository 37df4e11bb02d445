// The configuration flags that `predict serve` and `predict sweep serve` share.
#pragma once

#include <string>

#include "roofline/cli/predict.hpp"
#include "roofline/predict/serve.hpp"

namespace roofline::cli {

struct ServingOptions : PredictOptions {
  predict::Serving serving;
  std::string model, weights = "bf16", kv = "bf16";
};

/// --model, --weights, --kv, --memory and the flags of every form.
void add_serving_flags(CLI::App& form, ServingOptions& options);

/// Completes `options.serving` with model, roofs and memory, and returns the hardware.
predict::Hardware complete(ServingOptions& options);

}  // namespace roofline::cli
