// Serving a transformer: memory, one decode step, prefill, cost, and the questions turned round.
// Source: 'How To Scale Your Model', parts 5 and 8 (Austin et al., 2025).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "roofline/predict/hardware.hpp"
#include "roofline/predict/transformer.hpp"
#include "roofline/results/benchmark.hpp"

namespace roofline::predict {

/// A configuration. NaN where a figure is not given.
struct Serving {
  Transformer model;
  std::int64_t chips = 1;
  std::int64_t batch = 1;                  ///< sequences decoded together, over all chips
  std::int64_t context = 1;                ///< tokens in the cache of each
  double weight_bytes = 2, kv_bytes = 2;   ///< of one element
  Roofs roofs;                             ///< of one chip
  double memory_bytes = kUnknownNumber;    ///< of one chip
  double params = kUnknownNumber;          ///< in place of the model's own count
  double step_s = kUnknownNumber;          ///< in place of the predicted step
  double prefill_tokens = kUnknownNumber;  ///< of one prompt
  double decode_tokens = kUnknownNumber;   ///< that a sequence generates, median
  double mfu = 1;                          ///< share of the peak that prefill reaches
  double price_per_hour = kUnknownNumber;  ///< of one chip, dollars
  double link_axis = kUnknownNumber;       ///< bytes/s along one axis, see Hardware
  std::int64_t axes = 1;                   ///< of the slice that the model is split over
};

/// NaN where it does not follow from what is given.
struct ServePrediction {
  double parameters = 0, parameter_bytes = 0;
  double kv_bytes_per_token = 0, kv_bytes = 0, total_bytes = 0;
  std::optional<bool> fits;             ///< nothing where the chip's memory is unknown
  double min_chips = kUnknownNumber;    ///< that hold parameters and cache
  double slice_chips = kUnknownNumber;  ///< the next power of two
  double max_batch = kUnknownNumber;    ///< that fits on the chips given; 0 if none does
  double critical_batch = 0;            ///< from which on the MLP is compute-bound
  double t_parameters_s = 0, t_flops_s = 0;
  double t_attention_s = 0;  ///< the cache read once: always bound by memory
  double t_mlp_s = 0;        ///< max of t_parameters_s and t_flops_s
  double t_step_s = 0;
  std::string bound;  ///< compute or the memory's level: the step's longest part
  double tokens_per_s = 0, tokens_per_s_per_chip = 0;
  double queries_per_s_per_chip = kUnknownNumber;
  double prefill_s = kUnknownNumber;
  double sequences_finished_per_step = kUnknownNumber;
  double kv_tokens_freed_per_step = kUnknownNumber;
  double prefill_per_generate_server = kUnknownNumber;
  /// Chips beyond which the link bounds a layer split over them: while it is compute-bound, and at
  /// this batch while it is memory-bound. The larger of the two is the limit.
  double model_parallel_limit = kUnknownNumber;
  double model_parallel_limit_memory_bound = kUnknownNumber;
  /// The chips are beyond both: the step is slower than t_step_s. Never one chip, which uses no
  /// link. Nothing where no link is known.
  std::optional<bool> link_bound;
  double flops_per_dollar = kUnknownNumber, dollars_per_million_tokens = kUnknownNumber;
};

/// Memory: P e + B S kv. Step: B S kv / (n W) + max(2 B P / (n C), P e / (n W)). Throws BadInput if
/// a size is below 1, a figure is not above 0, or the result is not finite. Link: activations of 2
/// bytes, or as wide as the weights where those are wider.
ServePrediction predict(const Serving& serving);

/// Every slice of 2^k chips, up to `most_chips`, that serves, with its batch: the one of the
/// highest throughput (among equals the smallest) or, of a target that is not NaN, the smallest
/// that generates `tokens_per_s`; with a step of at most `latency_limit_s` unless that is NaN, and
/// not beyond what a link is known to allow. Throws BadInput as predict(), if the chip's memory is
/// unknown, and for more than 1e9 chips.
std::vector<Serving> slices(const Serving& base, double tokens_per_s, double latency_limit_s,
                            std::int64_t most_chips);

/// Of them the one with the highest throughput per chip; among equals the first.
std::optional<Serving> best_of(const std::vector<Serving>& slices);

}  // namespace roofline::predict
