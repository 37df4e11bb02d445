// Idea: 128-bit loads and stores. Untuned: has run under emulation only.
// Bound: the load and store pipes in L1, the level's bandwidth beyond.
// Gains over scalar code: the vector width, in L1 and L2.
#include "kernels/simd/neon.hpp"
#include "kernels/stream/stream_simd.hpp"

namespace kernels::stream {

extern const Kernel neon = kernel_of<Neon::F32>(Neon::kUnit);

}  // namespace kernels::stream
