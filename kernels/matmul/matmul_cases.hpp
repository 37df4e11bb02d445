// Which matmuls are timed and tested.
#pragma once

#include <string>
#include <vector>

#include "kernels/op.hpp"

namespace kernels::matmul {

/// The suite on a machine with these caches.
std::vector<Case> cases(const Caches& caches);
/// Whether memory holds what a case takes, see Operation.
std::string unfit(const KernelInfo& info, const Case& c, const Caches& caches);
/// Small, odd and tile-edge shapes on 1 and 3 threads, with whole-number and with real data.
std::vector<Case> test_cases();

}  // namespace kernels::matmul
