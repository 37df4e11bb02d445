// dot: s = sum_i x[i] * y[i], N elements.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/dtype.hpp"
#include "kernels/op.hpp"

namespace kernels::dot {

/// One variant: serial functions over x[0, n) and y[0, n), any alignment, n >= 0; nullptr where it
/// does not do the dtype. Threads take a slice each (dot_op.cpp). The int8 result is exact at every
/// length: lanes are widened to 64 bits before they can overflow.
struct Kernel {
  const char* exec_unit;         ///< the unit that it issues to
  std::int64_t least_bytes = 0;  ///< of both vectors a thread, that the functions are for
  double (*f64)(const double* x, const double* y, std::int64_t n) = nullptr;
  float (*f32)(const float* x, const float* y, std::int64_t n) = nullptr;
  float (*bf16)(const kernels::bf16* x, const kernels::bf16* y, std::int64_t n) = nullptr;
  std::int64_t (*s8)(const std::int8_t* x, const std::int8_t* y, std::int64_t n) = nullptr;
  /// dtype of the compute roof for bf16: "f32" where it is widened, "bf16" with bf16 instructions.
  const char* bf16_roof = "f32";
  /// A library that brings threads of its own: sets how many its next call runs on. It then gets
  /// whole vectors, of at most 2^31 - 1 elements, in place of a slice a thread.
  void (*set_threads)(int) = nullptr;
  /// Whether that library was built with threads.
  bool (*has_threads)() = nullptr;
  /// Further `key=value;` text for the label, such as a library's version; may be null.
  std::string (*label)() = nullptr;
};

/// 2N - 1 operations; both vectors once and the scalar result.
constexpr Cost cost(std::int64_t n, int element_bytes) {
  return {2.0 * static_cast<double>(n) - 1.0, (2.0 * static_cast<double>(n) + 1.0) * element_bytes};
}

}  // namespace kernels::dot
