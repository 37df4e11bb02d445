// Transformers by hyperparameters (specs/models.json, or a file of the user's).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roofline::predict {

/// Gated MLP, grouped-query attention, separate input embedding and output head.
struct Transformer {
  std::string name;
  std::int64_t layers = 0, d_model = 0, d_ff = 0;
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t vocabulary = 0;
  std::string source;

  /// L (3DF + 2DNH + 2DKH) + 2DV; norms are not counted.
  double parameters() const;
  /// Elements of keys and values that one token leaves in the cache: 2 K H L. The query heads do
  /// not matter.
  double kv_elements_per_token() const;
};

/// Those built in, in the order of their names.
const std::vector<Transformer>& transformers();

/// A name that is built in, or the path of a FILE.json with the same keys. Throws BadInput: an
/// unknown name (the known ones are listed), or a file that is unreadable, cut off, lacks a key, or
/// has one that is not a whole number from 1 to 1e9.
Transformer transformer(const std::string& name_or_file);

}  // namespace roofline::predict
