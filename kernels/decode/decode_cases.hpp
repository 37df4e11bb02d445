// Which decode steps are offered, and which the tests take.
#pragma once

#include <vector>

#include "kernels/op.hpp"

namespace kernels::decode {

std::vector<Case> cases(const Caches& caches);
std::vector<Case> test_cases();

}  // namespace kernels::decode
