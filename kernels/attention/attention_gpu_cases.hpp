// Which attentions are timed and tested on a GPU.
#pragma once

#include <vector>

#include "kernels/op.hpp"

namespace kernels::attention {

/// Around 32 / 8 heads of 128; the other settings a few at a time. What does not fit this GPU is
/// listed all the same (unfit()).
std::vector<Case> gpu_cases(const Caches& caches);
/// Lengths around the tokens of a step, a page and a chunk; groups of 1, 3, 4, 8, 16 and 17.
std::vector<Case> gpu_test_cases();

}  // namespace kernels::attention
