// The matmul oracle. Sums are in double (int64 for int8), whatever the variant does.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/matmul/matmul.hpp"

namespace kernels::matmul {

/// Values for the inputs, seeded by position. `kReal`: magnitudes in [0.5, 1) with random signs, so
/// that rounding is at work and yet a single missing product (at least 1/4) stands out of it.
/// `kIntegers`: nonzero whole numbers up to 4 in magnitude, whose sums are exact in fp32 in every
/// order, so that a right kernel equals the oracle to the bit.
enum class Data { kReal, kIntegers };

/// Bytes for integer sums, which are exact whatever their sizes: all there are but 0, whose product
/// nobody would miss. The ends come as often as anything, as tricks with absolute values fail only
/// there: -128 has no negative, and two products of it are beyond 16 bits.
template <class T>
T whole_byte(std::uint64_t h) {
  constexpr int kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  switch (h % 8) {
    case 0:
      return static_cast<T>(kLow == 0 ? 1 : kLow);
    case 1:
      return static_cast<T>(kHigh);
    case 2:
      return static_cast<T>(h >> 63 && kLow < 0 ? -1 : 1);
    default:
      const int value = kLow + static_cast<int>((h >> 8) % (kHigh - kLow + 1));
      return static_cast<T>(value == 0 ? 2 : value);
  }
}

/// Weights that have a scale: of 64 to 128, so that with it a missing product stands out like one
/// of reals.
template <class T, class Z>
T input_value(Data data, std::uint64_t seed, std::uint64_t i) {
  const std::uint64_t h = hash(seed, i);
  if constexpr (std::is_integral_v<Z>) {
    return whole_byte<T>(h);
  } else if constexpr (std::is_same_v<T, std::int8_t>) {
    const int magnitude = 64 + static_cast<int>(h % 64);
    return static_cast<std::int8_t>(h >> 63 ? magnitude == 127 ? -128 : -magnitude : magnitude);
  } else {
    const float magnitude = data == Data::kIntegers ? static_cast<float>(1 + h % 4)
                                                    : 0.5f + static_cast<float>(h >> 41) * 0x1p-24f;
    return static_cast<T>(h & 0x100 ? -magnitude : magnitude);
  }
}

/// A column's scale: brings |scale * y| into (0.37, 1); a power of two for exact data.
inline float scale_value(Data data, std::uint64_t i) {
  return data == Data::kIntegers
             ? 0.0078125f
             : (0.75f + static_cast<float>(hash(7, i) >> 40) * 0x1p-26f) * 0.0078125f;
}

/// sums[j] += a * y[j]. A test run spends minutes in it: without a sanitizer's checks.
template <class Sum>
[[gnu::noinline]] __attribute__((no_sanitize("address", "undefined", "thread"))) void add_products(
    Sum a, const Sum* y, Sum* sums, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) sums[j] += a * y[j];
}

/// Checks z = x . y (columns times `scales` where given) for one product. All entries while
/// MNK <= 512^3, else Freivalds' check over blocks of columns plus every crossing of `rows` and
/// `columns`: first, last, those around the tiles' multiples, and some at random. Empty when right.
///
/// Tolerance: rounding in a K-term sum of products below 1 walks randomly to about 0.12 eps K, so
/// an entry may be off by 4 eps K and the weighted sum of a block of c columns by 1.25 eps K
/// sqrt(c), both about ten standard deviations and, with c chosen for it, below the smallest single
/// product. Whole-number data has tolerance 0.
template <class X, class Y, class Z>
class Oracle {
 public:
  using Sum = std::conditional_t<std::is_integral_v<Z>, std::int64_t, double>;

  Oracle(const Shape& shape, Data data, const Tiles& tiles, int threads)
      : s_(shape), threads_(threads), tiles_(tiles) {
    if constexpr (std::is_floating_point_v<Z>)
      if (data == Data::kReal)
        unit_ = std::numeric_limits<Z>::epsilon() * static_cast<double>(s_.k);
  }

  std::string check(const X* x, const Y* y, const float* scales, const Z* z) const {
    if (static_cast<double>(s_.m) * static_cast<double>(s_.n) * static_cast<double>(s_.k) <=
        512.0 * 512.0 * 512.0)
      return entries(x, y, scales, z, all(s_.m), all(s_.n));
    std::string wrong = entries(x, y, scales, z, edges(s_.m, {tiles_.l1.m, tiles_.l2.m}, 1),
                                edges(s_.n, {tiles_.l1.n, tiles_.l3.n}, 2));
    return wrong.empty() ? freivalds(x, y, scales, z) : wrong;
  }

 private:
  using Index = std::vector<std::int64_t>;

  static Index all(std::int64_t n) {
    Index index(n);
    for (std::int64_t i = 0; i < n; ++i) index[i] = i;
    return index;
  }

  /// First, last, both sides of the first and last multiple of each tile, and eight at random.
  static Index edges(std::int64_t n, std::initializer_list<std::int64_t> tiles,
                     std::uint64_t seed) {
    Index index = {0, n - 1};
    const auto add = [&](std::int64_t i) {
      if (i >= 0 && i < n) index.push_back(i);
    };
    for (const std::int64_t t : tiles) {
      if (t <= 0) continue;
      for (const std::int64_t at : {t, (n - 1) / t * t}) {
        add(at - 1);
        add(at);
      }
    }
    for (int i = 0; i < 8; ++i) add(static_cast<std::int64_t>(hash(seed, i) % n));
    std::sort(index.begin(), index.end());
    index.erase(std::unique(index.begin(), index.end()), index.end());
    return index;
  }

  static Sum scaled(Sum sum, const float* scales, std::int64_t j) {
    if constexpr (std::is_floating_point_v<Z>)
      if (scales != nullptr) return sum * scales[j];
    return sum;
  }

  std::string entries(const X* x, const Y* y, const float* scales, const Z* z, const Index& rows,
                      const Index& columns) const {
    const std::int64_t nr = static_cast<std::int64_t>(rows.size()),
                       nc = static_cast<std::int64_t>(columns.size());
    // Rows that share what is read of Y.
    const std::int64_t most = std::clamp<std::int64_t>((nr + threads_ - 1) / threads_, 1, 8);
    std::string wrong;
#pragma omp parallel num_threads(threads_)
    {
      std::vector<Sum> sums(most * nc), y_row(nc);
#pragma omp for schedule(dynamic)
      for (std::int64_t first = 0; first < nr; first += most) {
        const std::int64_t count = std::min(most, nr - first);
        std::fill(sums.begin(), sums.end(), Sum{0});
        for (std::int64_t k = 0; k < s_.k; ++k) {
          for (std::int64_t j = 0; j < nc; ++j)
            y_row[j] = static_cast<Sum>(y[k * s_.n + columns[j]]);
          for (std::int64_t r = 0; r < count; ++r)
            add_products(static_cast<Sum>(x[rows[first + r] * s_.k + k]), y_row.data(),
                         sums.data() + r * nc, nc);
        }
        for (std::int64_t i = 0; i < count * nc; ++i) {
          const std::int64_t row = rows[first + i / nc], column = columns[i % nc];
          const Sum expected = scaled(sums[i], scales, column);
          const Sum got = static_cast<Sum>(z[row * s_.n + column]);
          if (near(got, expected, 4 * unit_)) continue;
#pragma omp critical(matmul_oracle)
          if (wrong.empty())
            wrong = "Z[" + std::to_string(row) + "," + std::to_string(column) + "] is " +
                    std::to_string(got) + ", the oracle says " + std::to_string(expected);
        }
      }
    }
    return wrong;
  }

  /// z . r against x . (y . r) for random r of magnitude 0.75 to 1.25 (in 64ths), column block by
  /// column block.
  std::string freivalds(const X* x, const Y* y, const float* scales, const Z* z) const {
    std::int64_t block = 1024;
    while (block > 1 && 1.25 * unit_ * std::sqrt(static_cast<double>(block)) > 0.14) block /= 2;
    const std::int64_t blocks = (s_.n + block - 1) / block;
    std::vector<Sum> r(s_.n), yr(s_.k * blocks);
    for (std::int64_t j = 0; j < s_.n; ++j) {
      const std::uint64_t h = hash(99, j);
      const int weight = 48 + static_cast<int>(h % 33);
      r[j] = static_cast<Sum>(h >> 63 ? -weight : weight);
    }
#pragma omp parallel for num_threads(threads_)
    for (std::int64_t k = 0; k < s_.k; ++k)
      for (std::int64_t b = 0; b < blocks; ++b) {
        Sum sum = 0;
        for (std::int64_t j = b * block; j < std::min(s_.n, (b + 1) * block); ++j)
          sum += scaled(static_cast<Sum>(y[k * s_.n + j]) * r[j], scales, j);
        yr[k * blocks + b] = sum;
      }
    std::string wrong;
#pragma omp parallel num_threads(threads_)
    {
      std::vector<Sum> expected(blocks);
#pragma omp for
      for (std::int64_t i = 0; i < s_.m; ++i) {
        std::fill(expected.begin(), expected.end(), Sum{0});
        for (std::int64_t k = 0; k < s_.k; ++k) {
          const Sum a = static_cast<Sum>(x[i * s_.k + k]);
          for (std::int64_t b = 0; b < blocks; ++b) expected[b] += a * yr[k * blocks + b];
        }
        for (std::int64_t b = 0; b < blocks; ++b) {
          Sum got = 0;
          const std::int64_t end = std::min(s_.n, (b + 1) * block);
          for (std::int64_t j = b * block; j < end; ++j)
            got += static_cast<Sum>(z[i * s_.n + j]) * r[j];
          const double width = static_cast<double>(end - b * block);
          if (near(got, expected[b], 64 * 1.25 * unit_ * std::sqrt(width))) continue;
#pragma omp critical(matmul_oracle)
          if (wrong.empty())
            wrong = "row " + std::to_string(i) + ", columns " + std::to_string(b * block) + " to " +
                    std::to_string(end - 1) + ": weighted sum " + std::to_string(got) +
                    ", Freivalds' check says " + std::to_string(expected[b]);
        }
      }
    }
    return wrong;
  }

  /// False for NaN.
  static bool near(Sum got, Sum expected, double tolerance) {
    if constexpr (std::is_integral_v<Sum>)
      return got == expected;
    else
      return std::abs(got - expected) <= tolerance;
  }

  Shape s_;
  int threads_;
  Tiles tiles_;
  double unit_ = 0;  ///< eps K, 0 where sums are exact
};

}  // namespace kernels::matmul
