// Tensor maps: how TMA sees a matrix in memory.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/cuda/types.hpp"

namespace kernels::cuda {

/// `batch` matrices of `rows` rows of `columns` elements; pitch and stride in elements.
struct Tensor {
  Type type;
  const void* data;
  std::int64_t columns, rows, batch, pitch, stride;
};

/// The map for boxes of 128 bytes (of columns) x `box_rows` x 1 with the 128-byte swizzle; loads
/// are zero beyond `columns` and `rows`, stores are cut off there, rows by whole
/// 16 bytes: up to 15 beyond `columns` are written. Pitch and stride are multiples of 16 bytes.
/// Throws Error.
CUtensorMap tensor_map(const Tensor& tensor, int box_rows);

}  // namespace kernels::cuda
