// What a call of attention on a GPU is given, as numbers by position: the harness writes them to
// the device, the oracle computes with them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/attention/attention_cases.hpp"
#include "kernels/cuda/fill.hpp"
#include "kernels/values.hpp"

namespace kernels::attention {

/// Uniform keys in [-1, 1) and queries in [-6, 6): scores of deviation 2.
inline constexpr float kQueryAmplitude = 6;
inline constexpr std::uint64_t kSeedQ = 1, kSeedK = 2, kSeedV = 3, kSeedKScale = 4, kSeedVScale = 5;

/// Of one row of an int8 cache.
inline float scale_value(std::uint64_t seed, std::int64_t row) {
  return (1.0f + 0.5f * random_value<float>(seed, row)) / 127;
}

/// A key as its type holds it, written to `to` as well.
inline double store(cuda::Type type, float x, void* to) {
  const auto put = [&](auto value) {
    std::memcpy(to, &value, sizeof value);
    return cuda::load_as_double(type, to, 0);
  };
  switch (type) {
    case cuda::Type::bf16:
      return put(bf16(x));
    case cuda::Type::f16:
      return put(__float2half_rn(x));
    case cuda::Type::e4m3:
      return put(__nv_fp8_e4m3(x));
    case cuda::Type::s8:
      return put(static_cast<std::int8_t>(std::clamp(std::round(x), -127.0f, 127.0f)));
    default:
      return put(x);
  }
}

/// The first and the last token and both sides of the first page's edge point along their queries,
/// far enough that each carries weight: leaving one out shows.
class GpuInputs {
 public:
  GpuInputs(const Shape& shape, cuda::Type type)
      : shape_(shape), type_(type), pool_(pool_of(shape)) {
    if (shape.page > 0) {
      table_.resize(shape.batch * pool_.sequence_pages);
      std::iota(table_.begin(), table_.end(), 0);
      for (std::size_t i = table_.size() - 1; i > 0; --i)
        std::swap(table_[i], table_[hash(7, i) % (i + 1)]);
    }
    make_marks();
  }

  const Shape& shape() const { return shape_; }
  cuda::Type type() const { return type_; }
  bool scaled() const { return type_ == cuda::Type::s8; }
  const Pool& pool() const { return pool_; }
  /// Pages in random order, [batch][sequence_pages]; empty: in order.
  const std::vector<std::int32_t>& table() const { return table_; }
  /// Keys set by hand, by row, without their scale.
  const std::unordered_map<std::int64_t, std::vector<double>>& marks() const { return marks_; }

  static float query(std::int64_t i) { return kQueryAmplitude * random_value<float>(kSeedQ, i); }

  /// Row of the pool that holds a token.
  std::int64_t row_of(std::int64_t sequence, std::int64_t kv_head, std::int64_t token) const {
    std::int64_t page = sequence * pool_.sequence_pages + token / pool_.page_tokens;
    if (shape_.page > 0) page = table_[page];
    return (page * shape_.kv_heads + kv_head) * pool_.page_tokens + token % pool_.page_tokens;
  }

  /// The keys of a row, without their scale.
  void keys_of(std::int64_t row, std::vector<double>& keys) const {
    if (const auto mark = marks_.find(row); mark != marks_.end()) {
      keys = mark->second;
      return;
    }
    for (std::int64_t d = 0; d < shape_.head_dim; ++d)
      keys[d] = cuda::value_at(type_, kSeedK, row * shape_.head_dim + d, cuda::Values::random);
  }

 private:
  void make_marks() {
    const Shape& s = shape_;
    const std::int64_t group = s.heads / s.kv_heads;
    // A key f q scores f |q|^2 / sqrt(head_dim), with |q|^2 = amplitude^2 / 3 * head_dim.
    const std::int64_t page = s.page > 0 ? s.page : kPage;
    std::vector<std::byte> element(cuda::size_of(type_));
    for (std::int64_t b = 0; b < s.batch; ++b) {
      const std::int64_t length = length_of(s, b);
      const double wanted = std::max(1.0, std::log(static_cast<double>(length)) - 1);
      const double along = wanted / (kQueryAmplitude * kQueryAmplitude / 3 *
                                     std::sqrt(static_cast<double>(s.head_dim)));
      for (std::int64_t h = 0; h < s.kv_heads; ++h)
        for (const std::int64_t token : {std::int64_t{0}, page - 1, page, length - 1}) {
          if (token >= length) continue;
          const std::int64_t row = row_of(b, h, token);
          std::vector<double> key(s.head_dim);
          for (std::int64_t d = 0; d < s.head_dim; ++d) {
            double x = 0;
            for (std::int64_t g = 0; g < group; ++g)
              x += along * query(((b * s.kv_heads + h) * group + g) * s.head_dim + d);
            if (scaled()) x /= scale_value(kSeedKScale, row);
            key[d] = store(type_, static_cast<float>(x), element.data());
          }
          marks_[row] = std::move(key);
        }
    }
  }

  Shape shape_;
  cuda::Type type_;
  Pool pool_;
  std::vector<std::int32_t> table_;
  std::unordered_map<std::int64_t, std::vector<double>> marks_;
};

}  // namespace kernels::attention
