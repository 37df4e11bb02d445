// Element types by name, for code that handles all of them alike: fills, oracles, checks. Kernels
// proper have their types as template parameters.
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <string_view>

#include "kernels/dtype.hpp"
#include "kernels/op.hpp"

#ifdef __CUDACC__
#define KERNELS_HD __host__ __device__
#else
#define KERNELS_HD
#endif

namespace kernels::cuda {

enum class Type { f64, f32, tf32, bf16, f16, e4m3, s8, s32, s64 };

constexpr int size_of(Type t) {
  switch (t) {
    case Type::f64:
    case Type::s64:
      return 8;
    case Type::f32:
    case Type::tf32:  // stored as fp32, rounded by the tensor cores
    case Type::s32:
      return 4;
    case Type::bf16:
    case Type::f16:
      return 2;
    case Type::e4m3:
    case Type::s8:
      return 1;
  }
  return 0;
}

/// The type that a benchmark's dtype names. Throws BadInput, naming `op`, for any that no GPU
/// kernel here has.
Type parse_type(std::string_view op, std::string_view dtype);

/// Element `i` of an array of type `t`, widened exactly.
KERNELS_HD inline double load_as_double(Type t, const void* p, std::int64_t i) {
  switch (t) {
    case Type::f64:
      return static_cast<const double*>(p)[i];
    case Type::f32:
    case Type::tf32:
      return static_cast<const float*>(p)[i];
    case Type::bf16:
      return static_cast<double>(static_cast<const bf16*>(p)[i]);
    case Type::f16:
      return __half2float(static_cast<const __half*>(p)[i]);
    case Type::e4m3:
      return static_cast<float>(static_cast<const __nv_fp8_e4m3*>(p)[i]);
    case Type::s8:
      return static_cast<const std::int8_t*>(p)[i];
    case Type::s32:
      return static_cast<const std::int32_t*>(p)[i];
    case Type::s64:
      return static_cast<double>(static_cast<const std::int64_t*>(p)[i]);
  }
  return 0;
}

}  // namespace kernels::cuda
