// Which matmuls are timed and tested on a GPU.
#pragma once

#include <vector>

#include "kernels/op.hpp"

namespace kernels::matmul {

/// What does not fit this GPU is listed all the same (unfit()).
std::vector<Case> gpu_cases(const Caches& caches);
/// Around the tiles' edges (8, 32, 64, 128, 256) in every dimension, one with more tiles than a
/// small chip has SMs, and two beyond the full oracle.
std::vector<Case> gpu_test_cases();

}  // namespace kernels::matmul
