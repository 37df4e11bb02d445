// fma_peak on a GPU: the contract of its variants.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "kernels/cuda/fill.hpp"

namespace kernels::fma_peak {

struct GpuArguments {
  std::int64_t iterations;
  int blocks;
  bool zeros;    ///< operands are zero instead of random: less power, higher clock
  double* sums;  ///< one a thread: the sum of its accumulators
};

/// One dtype of a variant. Accumulators start at zero; `expected` computes on the host what the
/// threads of any one block must sum up to after `iterations` on random operands.
struct GpuChain {
  void (*launch)(const GpuArguments&, cudaStream_t) = nullptr;
  std::vector<double> (*expected)(std::int64_t iterations) = nullptr;
  double flops_per_iteration = 0;  ///< of one block
  int threads = 0;                 ///< of one block
  int blocks_per_sm = 1;
  double tolerance = 0;  ///< relative to the largest expected sum
};

struct GpuKernel {
  const char* exec_unit;
  GpuChain f64, f32, tf32, bf16, f16, e4m3, s8;
};

/// Iterations in one call: 20 to 300 us on a data-centre GPU, by what an iteration does.
inline constexpr std::int64_t kGpuIterations = 64;

inline constexpr std::uint64_t kSeedA = 1, kSeedB = 2, kSeedStart = 3;

}  // namespace kernels::fma_peak
