// Plain references on the device, in double, for data that is too large for the host's oracle. They
// share no code with the kernels that they judge; the tests hold them against the host.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/types.hpp"

namespace kernels::cuda {

/// sum_i x[i] * y[i], exact for values whose sums stay below 2^53.
double dot_reference(Type type, const void* x, const void* y, std::int64_t n);

/// The sum of n 32-bit words modulo 2^32.
std::uint32_t word_sum(const void* p, std::int64_t n);

/// How many of a[0, n) differ from b + s * c; from b where c is null; from s where b is null too.
std::int64_t count_wrong(const float* a, const float* b, const float* c, float s, std::int64_t n);

/// A . v in double for the logical matrix A, also where it is stored transposed.
std::vector<double> times_vector(Type type, const void* a, const Layout& layout,
                                 const std::vector<double>& v);

/// One entry of a product and what bounds its error.
struct Entry {
  std::int64_t row, column;
  double value;      ///< sum_k x(row, k) * y(k, column)
  double magnitude;  ///< sum_k |x(row, k) * y(k, column)|
};

/// Fills in `value` and `magnitude`. `y` may be stored transposed (layout.transposed: its rows are
/// the product's columns).
void product_entries(Type x_type, const void* x, const Layout& x_layout, Type y_type, const void* y,
                     const Layout& y_layout, std::vector<Entry>& entries);

}  // namespace kernels::cuda
