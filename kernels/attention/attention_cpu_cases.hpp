// Which attentions are timed and tested on a CPU.
#pragma once

#include <string>
#include <vector>

#include "kernels/op.hpp"

namespace kernels::attention {

/// The suite on a machine with these caches.
std::vector<Case> cases(const Caches& caches);
/// Whether memory holds what one of cases() takes, see Operation.
std::string unfit(const KernelInfo& info, const Case& c, const Caches& caches);
/// Lengths around the tokens of a tile, a page, a block and a chunk, groups that fill a register
/// tile and groups that do not, on 1 and 3 threads.
std::vector<Case> test_cases();

}  // namespace kernels::attention
