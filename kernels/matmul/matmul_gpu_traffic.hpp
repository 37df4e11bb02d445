// Bytes that a matmul moves across a GPU's levels, by its tiles.
#pragma once

#include <cmath>

#include "kernels/matmul/matmul.hpp"
#include "kernels/matmul/matmul_gpu.hpp"

namespace kernels::matmul {

/// L2: each block reads its panels of X and Y and writes its tile of Z. L1 and shared memory: each
/// warp reads its own rows and columns for every step of K. Without HBM.
inline LevelBytes gpu_tile_traffic(const Shape& s, const ElementBytes& e, const GpuTiles& t) {
  const double m = static_cast<double>(s.m), n = static_cast<double>(s.n),
               k = static_cast<double>(s.k), batch = static_cast<double>(s.batch);
  LevelBytes bytes;
  if (t.block_m == 0) return bytes;
  const double tm = std::ceil(m / t.block_m), tn = std::ceil(n / t.block_n);
  const double reads_of_x = std::ceil(tn / t.cluster_n), reads_of_y = std::ceil(tm / t.cluster_m);
  bytes.l2 = batch * (reads_of_x * m * k * e.x + reads_of_y * k * n * e.y + m * n * e.z);
  bytes.l1 = batch * tm * t.block_m * tn * t.block_n * k *
             (static_cast<double>(e.x) / t.warp_n + static_cast<double>(e.y) / t.warp_m);
  return bytes;
}

/// L2: what part_bytes says is written once and read once.
inline double part_traffic(const GpuKernel& kernel, const void* state) {
  return kernel.part_bytes != nullptr ? 2 * kernel.part_bytes(state) : 0;
}

}  // namespace kernels::matmul
